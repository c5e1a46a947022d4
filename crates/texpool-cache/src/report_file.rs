//! Writes the report that a delegate's option names, without losing another file.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use crate::{kept_file::open_kept, part_file::PartFile};
use texpool_model::import::folder_of;

/// Number of bytes by which a file is recognised as an earlier report.
const MARK: usize = 8;

/// Writes a report atomically. Replaces a file only if it is empty or begins like the report.
///
/// # Errors
/// The errors of the file system, and [`io::ErrorKind::AlreadyExists`] if the path is another file.
pub fn write_report(path: &Path, text: &str) -> io::Result<()> {
    if let Some((file, _)) = open_kept(path)? {
        let mut begun = Vec::new();
        file.take(MARK as u64).read_to_end(&mut begun)?;
        if !begun.is_empty() && !text.as_bytes().starts_with(&begun) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the file is not a report of texpool; name another",
            ));
        }
    }
    // A folder that does not exist is more likely an error than a wish.
    fs::metadata(folder_of(path))?;
    let part = PartFile::create(path)?;
    part.write(|out| out.write_all(text.as_bytes()))?;
    part.rename()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_reports_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        for text in ["texpool 1 on a\n", "texpool 2 on b\nmore\n"] {
            write_report(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, "").unwrap();
        write_report(&path, "texpool 3\n").unwrap();
        for other in ["a model", "tex"] {
            fs::write(&path, other).unwrap();
            let refused = write_report(&path, "report").unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        assert!(write_report(&folder.path().join("absent/report"), "texpool").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (model, link) = (folder.path().join("model"), folder.path().join("report"));
        fs::write(&model, "a model").unwrap();
        std::os::unix::fs::symlink(&model, &link).unwrap();
        assert!(write_report(&link, "texpool").is_err());
        assert_eq!(fs::read_to_string(&model).unwrap(), "a model");
    }
}
