//! A plot of the growth, as SVG: three panels over one axis of sizes, both axes by powers of ten.

use std::fmt::Write;

use serde_json::Value;

use crate::asked::KINDS;

const WIDTH: f64 = 900.0;
const LEFT_MARGIN: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 34.0;
const HEIGHT: f64 = 230.0;
const GAP: f64 = 62.0;
/// Six colours that people with red-green blindness can distinguish (Okabe & Ito, 2008).
const COLORS: [&str; 6] = ["#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7"];

/// A line: its name, and its value at each size.
type Line = (String, Vec<(f64, f64)>);

/// The plot of these points, each at a number of `records`.
pub(crate) fn svg(points: &[Value]) -> String {
    let line = |name: &str, path: &[&str]| -> Line {
        let value = |point: &Value| path.iter().try_fold(point, |at, key| at.get(key)).and_then(Value::as_f64);
        let at = |point: &Value| Some((point["records"].as_f64()?, value(point)?));
        (name.to_owned(), points.iter().filter_map(at).collect())
    };
    let questions = KINDS.iter().map(|(name, ..)| line(name, &["p50_ms", name])).collect();
    let room = vec![line("resident", &["resident_kb_per_record"]), line("on disk", &["disk_kb_per_record"])];
    let writing = vec![line("by the clock", &["inserts_per_s"]), line("a CPU second", &["inserts_per_cpu_s"])];
    let panels: [(&str, Vec<Line>); 3] = [
        ("a question: median, ms", questions),
        ("room: kB a record", room),
        ("imports of 1000: records a second, since the size before", writing),
    ];
    let sizes: Vec<f64> = points.iter().filter_map(|point| point["records"].as_f64()).collect();
    let height = TOP + panels.len() as f64 * (HEIGHT + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (n, (title, lines)) in panels.iter().enumerate() {
        let top = TOP + n as f64 * (HEIGHT + GAP);
        panel(&mut svg, top, title, lines, &sizes);
    }
    svg + "</svg>\n"
}

/// An axis by powers of ten from one length to another.
#[derive(Debug, Clone, Copy)]
struct Axis {
    first: i32,
    last: i32,
    from: f64,
    to: f64,
}

impl Axis {
    /// One that holds all these values, over at least one power of ten.
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let positive = || values.clone().filter(|value| *value > 0.0).map(f64::log10);
        let first = positive().fold(f64::INFINITY, f64::min);
        let last = positive().fold(f64::NEG_INFINITY, f64::max);
        let (first, last) = if first.is_finite() { (first.floor() as i32, last.ceil() as i32) } else { (0, 1) };
        Self { first, last: last.max(first + 1), from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        self.from + part * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }
}

fn panel(svg: &mut String, top: f64, title: &str, lines: &[Line], sizes: &[f64]) {
    let (right, bottom) = (WIDTH - RIGHT, top + HEIGHT);
    let across = Axis::over(sizes.iter().copied(), LEFT_MARGIN, right);
    let values = lines.iter().flat_map(|(_, points)| points.iter().map(|(_, value)| *value));
    let up = Axis::over(values, bottom, top);
    // Writing to a text cannot fail.
    let _ = writeln!(svg, "<text x=\"{LEFT_MARGIN}\" y=\"{}\" font-weight=\"bold\">{title}</text>", top - 10.0);
    for tick in up.ticks() {
        let (y, label) = (up.at(tick), number(tick));
        let _ = writeln!(svg, "<path d=\"M{LEFT_MARGIN} {y:.1}H{right}\" stroke=\"#ddd\"/>");
        let _ =
            writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT_MARGIN - 8.0, y + 4.0);
    }
    for tick in across.ticks() {
        let (x, label) = (across.at(tick), number(tick));
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#ddd\"/>");
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", bottom + 18.0);
    }
    for ((name, points), (n, color)) in lines.iter().zip(COLORS.iter().enumerate()) {
        let places =
            points.iter().filter(|(_, value)| *value > 0.0).map(|(size, value)| (across.at(*size), up.at(*value)));
        let path: Vec<String> = places.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        for (x, y) in places {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>");
        }
        let y = top + 12.0 + n as f64 * 20.0;
        let _ = writeln!(svg, "<path d=\"M{} {y}h18\" stroke=\"{color}\" stroke-width=\"2\"/>", right + 16.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{name}</text>", right + 40.0, y + 4.0);
    }
}

/// A power of ten as one writes it.
fn number(value: f64) -> String {
    if value < 1.0 {
        return format!("{value}");
    }
    let digits = format!("{value:.0}");
    let parts: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|part| str::from_utf8(part).ok()).collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_axis_holds_its_values_between_powers_of_ten() {
        let axis = Axis::over([30.0, 4000.0].into_iter(), 0.0, 300.0);
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [10.0, 100.0, 1000.0, 10_000.0]);
        assert!((axis.at(100.0) - 100.0).abs() < 1e-9 && (axis.at(10_000.0) - 300.0).abs() < 1e-9);
        assert_eq!(number(100_000.0), "100 000");
    }

    #[test]
    fn every_line_of_a_panel_has_a_place_for_each_size() {
        let point = |records: u64| {
            let medians: serde_json::Map<_, _> =
                KINDS.iter().map(|(name, ..)| ((*name).to_owned(), json!(0.5))).collect();
            json!({
                "records": records, "p50_ms": medians, "resident_kb_per_record": 4.0, "disk_kb_per_record": 3.0,
                "inserts_per_s": 2000.0, "inserts_per_cpu_s": 4000.0,
            })
        };
        let svg = svg(&[point(1000), point(10_000)]);
        assert_eq!(svg.matches("<circle").count(), 2 * (KINDS.len() + 4));
        assert!(svg.contains(">10 000<") && svg.contains("recall, one user"));
    }
}
