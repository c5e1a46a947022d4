//! Classes of devices that a program can tell apart through WebGPU: by vendor, by kind, and by name.

/// Class of a device, which decides how much an invocation of a kernel computes.
///
/// WebGPU reports a vendor, a kind and a name. It reports neither the number of compute units nor the size of their
/// registers, so the classes are coarse.
///
/// ```
/// use texpool_ops::graph::DeviceClass;
///
/// // Vulkan's number of NVIDIA; a browser reports none, but a name.
/// assert_eq!(DeviceClass::of(0x10de, false, "NVIDIA GeForce RTX 4060"), DeviceClass::Nvidia);
/// assert_eq!(DeviceClass::of(0, false, "Mali-G715"), DeviceClass::Mali);
/// assert_eq!(DeviceClass::of(0x10005, true, "llvmpipe (LLVM 15.0.7, 256 bits)"), DeviceClass::Software);
/// assert_eq!(DeviceClass::of(0x14e4, false, "V3D 7.1"), DeviceClass::Unknown);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum DeviceClass {
    /// Software devices, such as lavapipe and SwiftShader. Also stands for the device of a plan that is made without
    /// one.
    #[default]
    Software,
    /// NVIDIA.
    Nvidia,
    /// AMD, discrete, integrated or in phones.
    Amd,
    /// Intel, integrated or discrete.
    Intel,
    /// Qualcomm's Adreno.
    Adreno,
    /// Arm's Mali and Immortalis.
    Mali,
    /// Imagination's PowerVR.
    PowerVr,
    /// Apple.
    Apple,
    /// All others.
    Unknown,
}

/// Vendors by the number that Vulkan and Direct3D report, which is that of the PCI list or Khronos' own.
const VENDORS: [(u32, DeviceClass); 7] = [
    (0x10de, DeviceClass::Nvidia),
    (0x1002, DeviceClass::Amd),
    (0x8086, DeviceClass::Intel),
    (0x5143, DeviceClass::Adreno),
    (0x13b5, DeviceClass::Mali),
    (0x1010, DeviceClass::PowerVr),
    (0x106b, DeviceClass::Apple),
];

/// Parts of names, in lower case, of devices whose vendor has no number, as in browsers and on Metal. A software device
/// may have the name of what it stands in for, so its names come first.
const NAMES: [(&str, DeviceClass); 16] = [
    ("llvmpipe", DeviceClass::Software),
    ("swiftshader", DeviceClass::Software),
    ("basic render", DeviceClass::Software),
    ("nvidia", DeviceClass::Nvidia),
    ("geforce", DeviceClass::Nvidia),
    ("amd", DeviceClass::Amd),
    ("radeon", DeviceClass::Amd),
    ("xclipse", DeviceClass::Amd),
    ("intel", DeviceClass::Intel),
    ("adreno", DeviceClass::Adreno),
    ("qualcomm", DeviceClass::Adreno),
    ("mali", DeviceClass::Mali),
    ("immortalis", DeviceClass::Mali),
    ("powervr", DeviceClass::PowerVr),
    ("imagination", DeviceClass::PowerVr),
    ("apple", DeviceClass::Apple),
];

impl DeviceClass {
    /// All classes.
    pub const ALL: [Self; 9] = [
        Self::Software,
        Self::Nvidia,
        Self::Amd,
        Self::Intel,
        Self::Adreno,
        Self::Mali,
        Self::PowerVr,
        Self::Apple,
        Self::Unknown,
    ];

    /// Returns the class of an adapter by the number of its vendor (0 if unknown), whether the processor computes in
    /// its place, and its name.
    pub fn of(vendor: u32, is_software: bool, name: &str) -> Self {
        if is_software {
            return Self::Software;
        }
        let name = name.to_lowercase();
        let by_name = || NAMES.iter().find(|(part, _)| name.contains(part)).map(|&(_, class)| class);
        let by_number = VENDORS.iter().find(|&&(number, _)| number == vendor).map(|&(_, class)| class);
        by_number.or_else(by_name).unwrap_or(Self::Unknown)
    }

    /// Returns the name: `software`, `nvidia`, `amd`, `intel`, `adreno`, `mali`, `powervr`, `apple` or `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Intel => "intel",
            Self::Adreno => "adreno",
            Self::Mali => "mali",
            Self::PowerVr => "powervr",
            Self::Apple => "apple",
            Self::Unknown => "unknown",
        }
    }
}
