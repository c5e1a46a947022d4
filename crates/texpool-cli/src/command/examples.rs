//! Command lines that the help of each subcommand shows.

/// Returns the examples of a subcommand.
pub(super) fn of(subcommand: &str) -> &'static str {
    match subcommand {
        "run" => {
            "\
Examples:
  texpool run mobilenet_v2 --input chelsea
  texpool run blazeface --input astronaut --draw faces.png
  texpool run model.onnx --input photo.jpg --output results
  texpool run blazeface --random --budget 1MiB --json"
        }
        "plan" => {
            "\
Examples:
  texpool plan mobilenet_v2
  texpool plan model.tflite --arena --write planned.tflite
  texpool plan mobilenet_v2 --front --picture front.svg
  texpool plan --records buffers.csv --capacity 1MiB --write plan.csv"
        }
        "fits" => {
            "\
Examples:
  texpool fits 8MiB
  texpool fits 2MiB blazeface model.onnx --json"
        }
        "report" => {
            "\
Examples:
  texpool report mobilenet_v2
  texpool report model.tflite --objective smallest --front --measure -o model.html"
        }
        "compile" => {
            "\
Examples:
  texpool compile mobilenet_v2 --budget 2MiB -o mobilenet_v2.plan
  texpool compile model.onnx --objective smallest --deadline none -o model.plan"
        }
        "explain" => {
            "\
Examples:
  texpool explain model.tflite --host tflite
  texpool explain model.onnx --host onnxruntime --json"
        }
        "csdf" => {
            "\
Examples:
  texpool csdf blazeface
  texpool csdf blazeface --phases 8 -o blazeface.xml
  texpool csdf blazeface --order --picture order.svg
  texpool csdf --published"
        }
        "bench" => {
            "\
Examples:
  texpool bench mobilenet_v2
  texpool bench model.onnx --plans fastest,balanced,smallest,2MiB --seconds 10
  texpool bench mobilenet_v2 --plan mobilenet_v2.plan --json > before.json
  texpool bench mobilenet_v2 --against before.json --trace trace.json"
        }
        "compare" => {
            "\
Examples:
  texpool compare mobilenet_v2 --against cpu
  texpool compare model.onnx --input x.npy --against y.npy --tolerance 1e-3"
        }
        "table" => {
            "\
Examples:
  texpool table --plan-only
  texpool table mobilenet_v1 mobilenet_v2 --objective smallest --json"
        }
        "models" => {
            "\
Examples:
  texpool models list
  texpool models fetch mobilenet_v2 chelsea"
        }
        "devices" => {
            "\
Examples:
  texpool devices
  texpool devices --measure --adapter llvmpipe"
        }
        "ceiling" => {
            "\
Examples:
  texpool ceiling
  texpool ceiling --precision f16 --adapter llvmpipe --json"
        }
        "tune" => {
            "\
Examples:
  texpool tune
  texpool tune resnet18 mobilenet_v2
  texpool tune --adapter llvmpipe --json"
        }
        "cache" => {
            "\
Examples:
  texpool cache list
  texpool cache clear --plans --weights"
        }
        "completions" => {
            "\
Examples:
  texpool completions bash > ~/.local/share/bash-completion/completions/texpool
  texpool completions zsh > ~/.zfunc/_texpool
  texpool completions fish > ~/.config/fish/completions/texpool.fish"
        }
        "man" => {
            "\
Examples:
  texpool man ~/.local/share/man/man1
  texpool man man1 --json"
        }
        _ => "",
    }
}
