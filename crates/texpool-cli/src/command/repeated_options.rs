//! Repeats the options of this call that say how a model is read and stored, so that a suggested command works and has
//! the same plan.

use std::{ffi::OsString, path::Path};

use crate::io::{shell_argument, shell_word};

/// Options with a value that `plan` and `run` share, without those that choose a plan.
const SHARED: [&str; 9] =
    ["--dim", "--constant", "--fake-quant", "--precision", "--weights", "--rules", "--order", "--tiling", "--blocks"];

/// Returns a model as the user calls it, followed by the options of this call that it needs.
pub(super) fn with_options(model: &Path) -> String {
    followed(model, std::env::args_os().skip(1))
}

fn followed(model: &Path, arguments: impl Iterator<Item = OsString>) -> String {
    let mut words = vec![shell_word(model)];
    let mut takes_value = false;
    for argument in arguments {
        let text = argument.to_string_lossy();
        let is_option = !takes_value && SHARED.contains(&&*text);
        let has_value = text.split_once('=').is_some_and(|(option, _)| SHARED.contains(&option));
        if is_option {
            words.push(text.into_owned());
        } else if takes_value || has_value {
            words.push(shell_argument(&argument));
        }
        takes_value = is_option;
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_model_are_repeated_as_they_were_given() {
        let call = |arguments: &str| followed(Path::new("a net.onnx"), arguments.split(' ').map(OsString::from));
        assert_eq!(call("plan net.onnx --details"), "'a net.onnx'");
        assert_eq!(
            call(
                "run --dim batch<=4 net.onnx --constant=sr=16000 --budget 4MiB --precision u8 --dim=n=2 --input a.npy"
            ),
            "'a net.onnx' --dim 'batch<=4' --constant=sr=16000 --precision u8 --dim=n=2"
        );
        // A value that looks like an option.
        assert_eq!(call("run net.onnx --constant --dim 4"), "'a net.onnx' --constant --dim");
    }
}
