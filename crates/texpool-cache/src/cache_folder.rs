//! The user's cache folder: its subfolders, and the tag by which backups leave it out.

use std::{
    fs::{self, DirEntry, File, Metadata},
    io::{self, Write},
    path::Path,
};

use texpool_model::import::is_part;

/// Name by which backup programs recognise a folder that they may skip.
const TAG: &str = "CACHEDIR.TAG";

/// Contents with the signature of the Cache Directory Tagging Specification, <https://bford.info/cachedir/>.
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55
# This file is a cache directory tag created by texpool.
# For information about cache directory tags, see https://bford.info/cachedir/
";

/// Name of the folder for plans in a user's cache folder.
pub const PLANS: &str = "plans";
/// Name of the folder for packed weights in a user's cache folder.
pub const WEIGHTS: &str = "weights";

/// Creates a user's cache folder if needed. The folder gets a `CACHEDIR.TAG` if all of its entries are texpool's: plans,
/// packed weights, and those for which `is_own` returns true. A folder with other contents does not, because backups may
/// need those.
pub fn make_cache_folder(folder: &Path, is_own: &dyn Fn(&str, &Metadata) -> bool) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(TAG);
    if fs::symlink_metadata(&path).is_ok()
        || !all_entries(folder, |name, found| is_kept(folder, name, found) || is_own(name, found))
    {
        return Ok(());
    }
    let tag = File::options().write(true).create_new(true).open(path);
    // Not an error: the folder works without the tag, and another process may have created it.
    if let Err(error) = tag.and_then(|mut file| file.write_all(TAG_TEXT.as_bytes())) {
        tracing::debug!(folder = %folder.display(), %error, "the folder has no CACHEDIR.TAG");
    }
    Ok(())
}

/// Returns whether an entry of a cache folder is the folder of plans or of weights and holds nothing else.
fn is_kept(folder: &Path, subfolder: &str, found: &Metadata) -> bool {
    let is_own = |name: &str, found: &Metadata| found.is_file() && (is_part(name) || is_kept_name(subfolder, name));
    [PLANS, WEIGHTS].contains(&subfolder) && found.is_dir() && all_entries(&folder.join(subfolder), is_own)
}

/// Returns whether texpool gives such names to the files in a subfolder of the cache folder, [`PLANS`] or [`WEIGHTS`]: a
/// name, a hash and the ending of their kind.
pub fn is_kept_name(subfolder: &str, name: &str) -> bool {
    let ending = match subfolder {
        PLANS => ".plan",
        WEIGHTS => ".weights",
        _ => return false,
    };
    let digits = name.strip_suffix(ending).and_then(|name| name.rsplit_once('-')).map(|(_, digits)| digits);
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Returns whether all entries of a folder can be read and satisfy the condition. Links are not followed.
fn all_entries(folder: &Path, is_own: impl Fn(&str, &Metadata) -> bool) -> bool {
    let is_own = |entry: io::Result<DirEntry>| {
        let entry = entry.ok()?;
        Some(is_own(entry.file_name().to_str()?, &entry.metadata().ok()?))
    };
    fs::read_dir(folder).is_ok_and(|mut entries| entries.all(|entry| is_own(entry) == Some(true)))
}

#[cfg(test)]
mod tests {
    use super::{TAG, make_cache_folder};
    use std::{fs, path::Path};

    /// Makes the entries in a new folder, those that end in `/` as folders, and returns whether it is tagged then.
    fn is_tagged(entries: &[&str]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for entry in entries {
            let path = folder.path().join(entry);
            fs::create_dir_all(if entry.ends_with('/') { &*path } else { path.parent().unwrap() }).unwrap();
            if !entry.ends_with('/') {
                fs::write(path, "kept").unwrap();
            }
        }
        let all = || {
            let list = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            let mut paths: Vec<_> = list(folder.path());
            paths.extend(paths.clone().iter().filter(|path| path.is_dir()).flat_map(|path| -> Vec<_> { list(path) }));
            paths.retain(|path| !path.ends_with(TAG));
            paths.sort();
            paths
        };
        let before = all();
        make_cache_folder(folder.path(), &|name, found| name == "own" && found.is_file()).unwrap();
        assert_eq!(all(), before);
        folder.path().join(TAG).exists()
    }

    #[test]
    fn a_folder_with_entries_of_texpool_alone_is_tagged() {
        let part = "weights/.texpool-0123456789abcdef.part";
        for own in [
            &[][..],
            &["plans/"],
            &["plans/a-0123456789abcdef.plan", "plans/b-c-0123456789abcdef-0123456789abcdef.plan"],
            &["own", "weights/a-0123456789abcdef.weights", part],
        ] {
            assert!(is_tagged(own), "{own:?}");
        }
        for foreign in [
            &["letter"][..],
            &["own", "letter"],
            &["own/"],
            &["plans"],
            &["plans/letter"],
            &["plans/house.plan"],
            &["plans/a-0123456789ABCDEF.plan"],
            &["plans/a-0123456789abcdef.weights"],
            &["plans/a-0123456789abcdef.plan/"],
            &["plans/a-0123456789abcdef.plan", "plans/more/letter"],
            &["plans/a-0123456789abcdef.plan", ".texpool-0123456789abcdef.part"],
        ] {
            assert!(!is_tagged(foreign), "{foreign:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), folder.path().join("plans")).unwrap();
        make_cache_folder(folder.path(), &|_, _| false).unwrap();
        assert!(!folder.path().join(TAG).exists());
        // A tag that leads nowhere is not written through.
        fs::remove_file(folder.path().join("plans")).unwrap();
        std::os::unix::fs::symlink(other.path().join("file"), folder.path().join(TAG)).unwrap();
        make_cache_folder(folder.path(), &|_, _| false).unwrap();
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
