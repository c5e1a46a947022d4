"""Builds the wheel: a library that no Python is linked into, and a module that says where it lies. As a build backend of
PEP 517 it needs nothing beside Rust: `pip wheel .`, or `python wheel_builder.py FOLDER`.
"""

import base64
import hashlib
import os
import platform
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "onnxruntime_ep_texpool"
LIBRARIES = {"win32": "texpool_onnxruntime.dll", "darwin": "libtexpool_onnxruntime.dylib"}
#: Fixed time stamp for files in the wheel, so that the same sources give identical bytes.
WRITTEN = (1980, 1, 1, 0, 0, 0)


def library() -> Path:
    """Builds the library, in the profile that PROFILE names, with what FEATURES names."""
    profile = os.environ.get("PROFILE", "release")
    features = os.environ.get("FEATURES", "")
    subprocess.run(["cargo", "build", "--profile", profile, "--locked", "--features", features], cwd=HERE, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    folder = "debug" if profile == "dev" else profile
    return HERE / target / folder / LIBRARIES.get(sys.platform, "libtexpool_onnxruntime.so")


def tag() -> str:
    """The platform: on Linux with the C library that was linked with, which every later one stands in for."""
    libc = (os.confstr("CS_GNU_LIBC_VERSION") or "") if sys.platform == "linux" else ""
    if libc.startswith("glibc "):
        return f"manylinux_{libc.removeprefix('glibc ').replace('.', '_')}_{platform.machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def metadata(project: dict[str, str]) -> str:
    """What the wheel says of itself. It depends on nothing: which onnxruntime there is, its user decides."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (HERE / project["readme"]).read_text()


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """Builds the wheel into a folder; its name."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    built = library()
    name = f"{PACKAGE}-{project['version']}"
    info = f"{name}.dist-info"
    kind = f"py3-none-{tag()}"
    wheel = f"Wheel-Version: 1.0\nGenerator: wheel_builder\nRoot-Is-Purelib: false\nTag: {kind}\n"
    files = {
        f"{PACKAGE}/__init__.py": (HERE / "python" / PACKAGE / "__init__.py").read_bytes(),
        f"{PACKAGE}/py.typed": b"",
        f"{PACKAGE}/{built.name}": built.read_bytes(),
        f"{info}/METADATA": metadata(project).encode(),
        f"{info}/WHEEL": wheel.encode(),
        f"{info}/licenses/LICENSE": (HERE / "../../LICENSE").read_bytes(),
    }
    record = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    with zipfile.ZipFile(Path(wheel_directory) / f"{name}-{kind}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, WRITTEN)
            entry.external_attr = (0o755 if path.endswith(built.suffix) else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return f"{name}-{kind}.whl"


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
