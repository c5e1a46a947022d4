//! Parts that all SVG pictures share: colours for light and dark pages, and marks of axes.

/// Colours by class, for light pages and for dark ones. Pictures are drawn into pages that have other pictures, so every
/// rule is limited to the class `texpool`.
const STYLE: &str = "\
.texpool text{fill:#222}\
.texpool .paper{fill:#fff}\
.texpool .grid{stroke:#ddd}\
.texpool .frame{fill:none;stroke:#999}\
.texpool .edge{stroke:#444;stroke-width:.5}\
.texpool .on{fill:#111}\
.texpool .mark{stroke:#c00;fill:#c00}\
.texpool text.mark{stroke:none}\
.texpool .guess{stroke:#777;fill:none}\
.texpool .fact{stroke:#06c;fill:#06c}\
.texpool .line{fill:none}\
@media (prefers-color-scheme:dark){\
.texpool text{fill:#ddd}\
.texpool .paper{fill:#15181c}\
.texpool .grid{stroke:#363b42}\
.texpool .frame{stroke:#777}\
.texpool .edge{stroke:#000}\
.texpool .on{fill:#111}\
.texpool .mark{stroke:#ff7b72;fill:#ff7b72}\
.texpool .guess{stroke:#aaa}\
.texpool .fact{stroke:#6cb6ff;fill:#6cb6ff}\
.texpool .line{fill:none}}";

/// Returns the opening tag of a picture with its size in pixels, its colours and its background.
pub fn svg_head(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"texpool\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>"
    )
}

/// Returns the distance between marks of an axis from 0 to `end`: 1, 2 or 5 times a power of ten, which gives four to
/// ten marks.
pub fn tick_distance(end: f64) -> f64 {
    // Starts at the coarsest distance, since four marks are enough.
    let power = 10f64.powf((end / 4.0).log10().floor());
    [5.0, 2.0].into_iter().map(|n| n * power).find(|mark| end / mark >= 4.0).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::{svg_head, tick_distance};

    #[test]
    fn axes_have_four_to_ten_marks() {
        for end in [0.03, 1.0, 4.0, 7.9, 47.0, 126.0, 1423.0, 1e6] {
            let marks = end / tick_distance(end);
            assert!((4.0..=10.0).contains(&marks), "{marks} marks up to {end}");
        }
        assert_eq!([tick_distance(47.0), tick_distance(126.0)], [10.0, 20.0]);
    }

    #[test]
    fn colours_follow_the_page_and_no_other_picture() {
        let head = svg_head(10.0, 20.0);
        assert!(head.contains("prefers-color-scheme:dark") && head.contains("viewBox=\"0 0 10 20\""), "{head}");
        let style = head.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        let mut selectors = style.split('}').filter_map(|rule| rule.rsplit('{').nth(1));
        assert!(selectors.all(|selector| selector.starts_with(".texpool ")), "{style}");
    }
}
