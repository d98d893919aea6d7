//! Charts as inline SVG: linear or logarithmic axes with units, lines, points and steps, and a legend in the
//! order of the series' ends.

use std::fmt::Write as _;

use super::escape;

/// Colours that are easy to tell apart, also for most people with colour blindness.
const HUES: [&str; 10] = [
    "#1455c0", "#d1495b", "#2a9d5c", "#e08e0b", "#7b4fb5", "#159aa8", "#8a5a2b", "#5f6b7a", "#c03a9b",
    "#a3a417",
];

/// The colour of measurements, next to models in their own colours.
pub(crate) const MEASURED: &str = "#1c2430";

pub(crate) fn hue(i: usize) -> &'static str {
    HUES[i % HUES.len()]
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Line,
    Dashed,
    /// A line with a marker at each point; the number chooses its form.
    Marked(usize),
    /// Small dots, for many points.
    Points,
    /// Large dots without a line.
    Dots,
    /// Outlined markers without a line, drawn over those of another series to set some of its points apart.
    Outlined(usize),
    Bars,
}

/// The number of marker forms.
pub(crate) const MARKER_FORMS: usize = 8;

pub(crate) struct Series {
    /// If empty, the series is not in the legend: it belongs to another series of its colour.
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<(f64, f64)>,
    /// Drawn thicker.
    pub(crate) is_prominent: bool,
}

impl Series {
    pub(crate) fn new(
        name: impl Into<String>,
        colour: &'static str,
        mark: Mark,
        points: Vec<(f64, f64)>,
    ) -> Self {
        Self { name: name.into(), colour, mark, points, is_prominent: false }
    }

    pub(crate) fn prominent(mut self, is_prominent: bool) -> Self {
        self.is_prominent = is_prominent;
        self
    }
}

/// An axis: its label with the unit, its scale, its range and its ticks.
#[derive(Clone)]
pub(crate) struct Axis {
    label: String,
    is_log: bool,
    range: Option<(f64, f64)>,
    ticks: Option<Vec<f64>>,
}

impl Axis {
    pub(crate) fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), is_log: false, range: None, ticks: None }
    }

    /// Values must be greater than zero; others are not drawn.
    pub(crate) fn log(label: impl Into<String>) -> Self {
        Self { is_log: true, ..Self::linear(label) }
    }

    pub(crate) fn range(mut self, from: f64, to: f64) -> Self {
        self.range = Some((from, to));
        self
    }

    pub(crate) fn ticks(mut self, ticks: impl IntoIterator<Item = f64>) -> Self {
        self.ticks = Some(ticks.into_iter().collect());
        self
    }

    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.is_log || value > 0.0)
    }

    /// Returns the axis with a range that fits the values, unless a range was given.
    fn fitted(&self, values: impl Iterator<Item = f64>) -> Self {
        if self.range.is_some() {
            return self.clone();
        }
        let shown = values.filter(|&value| self.shows(value));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let range = match (low <= high, self.is_log) {
            (false, _) => (0.1, 1.0),
            (true, true) => {
                (10_f64.powf((low.log10() - 0.05).floor()), 10_f64.powf((high.log10() + 0.05).ceil()))
            }
            (true, false) => {
                let step = round_step((high - low.min(0.0)).max(1e-9) / 5.0);
                ((low.min(0.0) / step).floor() * step, (high / step).ceil() * step)
            }
        };
        Self { range: Some(range), ..self.clone() }
    }

    /// Returns the position along the axis: 0 at its start, 1 at its end.
    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.range.unwrap_or((0.0, 1.0));
        if self.is_log { (value / low).ln() / (high / low).ln() } else { (value - low) / (high - low) }
    }

    fn tick_values(&self) -> Vec<f64> {
        if let Some(ticks) = &self.ticks {
            return ticks.clone();
        }
        let (low, high) = self.range.unwrap_or((0.0, 1.0));
        if self.is_log {
            let (first, last) = (low.log10().ceil() as i32, (high.log10() + 1e-9).floor() as i32);
            // Multiples of the step, so that 1 is among them.
            let step = (last - first) / 8 + 1;
            return (first..=last)
                .filter(|power| power % step == 0)
                .map(|power| 10_f64.powi(power))
                .collect();
        }
        let step = round_step((high - low) / 5.0);
        let count = ((high - low) / step).round() as u32;
        (0..=count).map(|i| low + f64::from(i) * step).collect()
    }
}

/// Returns 1, 2 or 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&s| s >= step * 0.999)
        .unwrap_or(step)
}

fn tick_label(value: f64, is_log: bool) -> String {
    if value == 0.0 {
        "0".into()
    } else if is_log && !(0.01..100_000.0).contains(&value) || value.abs() >= 1e6 {
        format!("{value:.0e}")
    } else {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').into()
    }
}

pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// Of the whole chart, legend included, in pixels.
    width: f64,
    height: f64,
}

const LEFT: f64 = 68.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 54.0;
const LEGEND: f64 = 190.0;
const LINE_HEIGHT: f64 = 17.0;

/// `write!` into a string, which cannot fail.
macro_rules! draw {
    ($svg:expr, $($arguments:tt)*) => {
        write!($svg, $($arguments)*).expect("writing to a string cannot fail")
    };
}

impl Chart {
    pub(crate) fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new(), width: 600.0, height: 360.0 }
    }

    /// As wide as the page.
    pub(crate) fn wide(mut self) -> Self {
        self.width = 1180.0;
        self
    }

    pub(crate) fn tall(mut self) -> Self {
        self.height = 560.0;
        self
    }

    pub(crate) fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    pub(crate) fn to_svg(&self) -> String {
        let values = || self.series.iter().flat_map(|series| &series.points);
        let frame = Frame {
            x: self.x.fitted(values().map(|point| point.0)),
            y: self.y.fitted(values().map(|point| point.1)),
            right: self.width - LEGEND,
            bottom: self.height() - BOTTOM,
        };
        let mut svg = String::new();
        draw!(
            svg,
            "<svg role=\"img\" aria-label=\"{0}\" width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {1} {2}\">\
             <text class=\"title\" x=\"{LEFT}\" y=\"20\">{0}</text>",
            escape(&self.title),
            self.width,
            self.height()
        );
        frame.draw_axes(&mut svg);
        let bars: Vec<_> = self.series.iter().filter(|series| series.mark == Mark::Bars).collect();
        for series in &self.series {
            let of_bars = bars.iter().position(|other| std::ptr::eq(*other, series)).map(|i| (i, bars.len()));
            frame.draw_series(&mut svg, series, of_bars);
        }
        self.draw_legend(&mut svg, &frame);
        svg + "</svg>"
    }

    /// Returns the height of the chart, which a long legend increases.
    fn height(&self) -> f64 {
        self.height.max(TOP + BOTTOM + LINE_HEIGHT * self.series.len() as f64)
    }

    /// Draws the names in the order of the series' ends, next to the ends if there is room.
    fn draw_legend(&self, svg: &mut String, frame: &Frame) {
        let end = |series: &Series| {
            let last = series.points.iter().rev().find(|point| frame.contains(**point));
            last.map_or(frame.bottom, |point| frame.at(*point).1)
        };
        let named = self.series.iter().filter(|series| !series.name.is_empty());
        let mut entries: Vec<(f64, &Series)> = named.map(|series| (end(series), series)).collect();
        entries.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = TOP + 6.0;
        for (i, (wanted, series)) in entries.iter().enumerate() {
            let room_below = LINE_HEIGHT * (entries.len() - 1 - i) as f64;
            let y = wanted.max(free).min(frame.bottom - room_below);
            free = y + LINE_HEIGHT;
            let x = frame.right + 14.0;
            let sample = [(x, y), (x + 20.0, y)];
            match series.mark {
                Mark::Points | Mark::Dots => {
                    draw_marker(svg, (x + 10.0, y), 0, LARGE, &filled(series.colour));
                }
                Mark::Outlined(form) => {
                    draw_marker(svg, (x + 10.0, y), form, LARGE, &outlined(series.colour));
                }
                Mark::Bars => draw!(
                    svg,
                    "<rect x=\"{x}\" y=\"{:.1}\" width=\"20\" height=\"10\" fill=\"{}\"/>",
                    y - 5.0,
                    series.colour
                ),
                _ => draw_line(svg, &sample, series),
            }
            if let Mark::Marked(form) = series.mark {
                draw_marker(svg, (x + 10.0, y), form, LARGE, &filled(series.colour));
            }
            let weight = if series.is_prominent { " font-weight=\"600\"" } else { "" };
            draw!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\"{weight}>{}</text>",
                x + 26.0,
                y + 4.0,
                escape(&series.name)
            );
        }
    }
}

struct Frame {
    x: Axis,
    y: Axis,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (LEFT + self.x.place(x) * (self.right - LEFT), self.bottom - self.y.place(y) * (self.bottom - TOP))
    }

    fn contains(&self, (x, y): (f64, f64)) -> bool {
        let within = |axis: &Axis, value| axis.shows(value) && (-0.001..=1.001).contains(&axis.place(value));
        within(&self.x, x) && within(&self.y, y)
    }

    fn draw_axes(&self, svg: &mut String) {
        let (right, bottom) = (self.right, self.bottom);
        let (first_x, _) = self.x.range.unwrap_or((0.0, 1.0));
        let (first_y, _) = self.y.range.unwrap_or((0.0, 1.0));
        for value in self.y.tick_values() {
            let (_, y) = self.at((first_x, value));
            let label = tick_label(value, self.y.is_log);
            draw!(svg, "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e3e8ee\"/>");
            draw!(
                svg,
                "<text class=\"axis\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 7.0,
                y + 4.0
            );
        }
        for value in self.x.tick_values() {
            let (x, _) = self.at((value, first_y));
            let label = tick_label(value, self.x.is_log);
            draw!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{}\" stroke=\"#8b96a5\"/>",
                bottom + 5.0
            );
            draw!(
                svg,
                "<text class=\"axis\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 19.0
            );
        }
        draw!(
            svg,
            "<path d=\"M{LEFT},{TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#8b96a5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(15,{:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            bottom + 42.0,
            escape(&self.x.label),
            f64::midpoint(TOP, bottom),
            escape(&self.y.label)
        );
    }

    fn draw_series(&self, svg: &mut String, series: &Series, of_bars: Option<(usize, usize)>) {
        let places: Vec<_> =
            series.points.iter().filter(|p| self.contains(**p)).map(|&p| (p, self.at(p))).collect();
        let title = |(x, y): (f64, f64)| {
            let name =
                if series.name.is_empty() { String::new() } else { format!("{}: ", escape(&series.name)) };
            format!("<title>{name}{} at {}</title>", super::scientific(y), super::scientific(x))
        };
        let draw_markers = |svg: &mut String, form, r, paint: &str| {
            for &(point, at) in &places {
                draw!(svg, "<g>{}", title(point));
                draw_marker(svg, at, form, r, paint);
                svg.push_str("</g>");
            }
        };
        match series.mark {
            Mark::Line | Mark::Dashed => self.draw_lines(svg, series),
            Mark::Marked(form) => {
                self.draw_lines(svg, series);
                draw_markers(svg, form, LARGE, &filled(series.colour));
            }
            Mark::Points => draw_markers(svg, 0, SMALL, &filled(series.colour)),
            Mark::Dots => draw_markers(svg, 0, LARGE, &filled(series.colour)),
            Mark::Outlined(form) => draw_markers(svg, form, LARGE, &outlined(series.colour)),
            Mark::Bars => {
                let (i, of) = of_bars.unwrap_or((0, 1));
                let slot = (self.right - LEFT) / (series.points.len() as f64 + 1.0) * 0.8;
                let width = slot / of as f64;
                for (point, (x, y)) in places {
                    draw!(
                        svg,
                        "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\">{}</rect>",
                        x - slot / 2.0 + i as f64 * width,
                        width * 0.92,
                        self.bottom - y,
                        series.colour,
                        title(point)
                    );
                }
            }
        }
    }

    /// Draws the lines between a series' points, as far as they are within the frame.
    fn draw_lines(&self, svg: &mut String, series: &Series) {
        let shown = series.points.iter().filter(|(x, y)| self.x.shows(*x) && self.y.shows(*y));
        let places: Vec<_> = shown.map(|&point| self.at(point)).collect();
        let mut line: Vec<(f64, f64)> = Vec::new();
        for ends in places.windows(2) {
            let within = self.within([ends[0], ends[1]]);
            if within.is_none_or(|[from, _]| line.last() != Some(&from)) {
                draw_line(svg, &std::mem::take(&mut line), series);
                line.extend(within.map(|[from, _]| from));
            }
            line.extend(within.map(|[_, to]| to));
        }
        draw_line(svg, &line, series);
    }

    /// Returns the part of a straight line that is within the frame.
    fn within(&self, [a, b]: [(f64, f64); 2]) -> Option<[(f64, f64); 2]> {
        // Less than a pixel, for lines on the frame itself.
        const MARGIN: f64 = 0.5;
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        for (start, end, low, high) in [(a.0, b.0, LEFT, self.right), (a.1, b.1, TOP, self.bottom)] {
            let [at_low, at_high] =
                [low - MARGIN, high + MARGIN].map(|border| (border - start) / (end - start));
            if at_low.is_finite() && at_high.is_finite() {
                from = from.max(at_low.min(at_high));
                to = to.min(at_low.max(at_high));
            } else if !(low - MARGIN..=high + MARGIN).contains(&start) {
                return None;
            }
        }
        let along = |share: f64| (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
        (from < to).then(|| [if from > 0.0 { along(from) } else { a }, if to < 1.0 { along(to) } else { b }])
    }
}

fn draw_line(svg: &mut String, places: &[(f64, f64)], series: &Series) {
    if places.is_empty() {
        return;
    }
    let mut points = String::new();
    for (x, y) in places {
        draw!(points, "{x:.1},{y:.1} ");
    }
    let width = if series.is_prominent { 3.0 } else { 1.5 };
    let dashes = if series.mark == Mark::Dashed { " stroke-dasharray=\"6 4\"" } else { "" };
    draw!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dashes}/>",
        points.trim_end(),
        series.colour
    );
}

/// Radii of markers.
const LARGE: f64 = 4.0;
const SMALL: f64 = 1.7;

fn filled(colour: &str) -> String {
    format!("fill=\"{colour}\"")
}

fn outlined(colour: &str) -> String {
    format!("fill=\"#fff\" stroke=\"{colour}\" stroke-width=\"1.5\"")
}

fn draw_marker(svg: &mut String, (x, y): (f64, f64), form: usize, r: f64, paint: &str) {
    let path = match form % MARKER_FORMS {
        0 => {
            draw!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" {paint}/>");
            return;
        }
        1 => format!("M{:.1},{:.1}h{r2}v{r2}h-{r2}z", x - r, y - r, r2 = 2.0 * r),
        2 => format!("M{x:.1},{:.1}l{s},{t}h-{t}z", y - 1.3 * r, s = 1.2 * r, t = 2.4 * r),
        3 => format!("M{x:.1},{:.1}l{s},{s}l-{s},{s}l-{s},-{s}z", y - 1.4 * r, s = 1.4 * r),
        4 => format!("M{x:.1},{:.1}l{s},-{t}h-{t}z", y + 1.3 * r, s = 1.2 * r, t = 2.4 * r),
        // Lying and standing rectangles.
        5 => format!("M{:.1},{:.1}h{s}v{t}h-{s}z", x - 1.4 * r, y - 0.6 * r, s = 2.8 * r, t = 1.2 * r),
        6 => format!("M{:.1},{:.1}h{t}v{s}h-{t}z", x - 0.6 * r, y - 1.4 * r, s = 2.8 * r, t = 1.2 * r),
        // A plus sign.
        _ => format!(
            "M{:.1},{:.1}h{t}v{t}h{t}v{t}h-{t}v{t}h-{t}v-{t}h-{t}v-{t}h{t}z",
            x - 0.5 * r,
            y - 1.5 * r,
            t = r
        ),
    };
    draw!(svg, "<path d=\"{path}\" {paint}/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_axes_ticks_and_a_legend_and_omits_values_that_cannot_be_shown() {
        let svg = Chart::new("rate <by> bits", Axis::linear("bits"), Axis::log("rate"))
            .with(Series::new("a & b", hue(0), Mark::Marked(1), vec![(16.0, 0.01), (48.0, 0.0)]))
            .to_svg();
        for part in ["rate &lt;by&gt; bits", ">bits<", ">rate<", "a &amp; b", ">0.01<"] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn axes_begin_and_end_at_round_numbers() {
        let axis = Axis::linear("").fitted([3.0, 47.0].into_iter());
        assert_eq!(axis.range, Some((0.0, 50.0)));
        assert_eq!(axis.tick_values(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        let axis = Axis::log("").fitted([0.002, 0.3, 0.0].into_iter());
        assert_eq!(axis.range, Some((0.001, 1.0)));
        assert_eq!(axis.tick_values().len(), 4);
        let ticks = Axis::log("").range(1e-17, 1.0).tick_values();
        assert_eq!((ticks.len(), ticks.last()), (6, Some(&1.0)));
    }

    #[test]
    fn lines_to_points_beyond_the_frame_end_at_the_frame() {
        let frame = Frame {
            x: Axis::linear("").range(0.0, 1.0),
            y: Axis::linear("").range(0.0, 1.0),
            right: 168.0,
            bottom: 138.0,
        };
        let lines = |points: Vec<(f64, f64)>| {
            let mut svg = String::new();
            frame.draw_lines(&mut svg, &Series::new("", hue(0), Mark::Line, points));
            let line = |part: &str| part.split('"').next().unwrap_or_default().to_owned();
            svg.split("points=\"").skip(1).map(line).collect::<Vec<_>>()
        };
        // One unit is 100 pixels, and the margin half of one.
        assert_eq!(lines(vec![(0.0, 0.5), (1.0, -0.5)]), ["68.0,88.0 118.5,138.5"]);
        assert_eq!(lines(vec![(0.2, 0.2), (0.4, 0.4), (0.6, 0.6)]), ["88.0,118.0 108.0,98.0 128.0,78.0"]);
        let twice = lines(vec![(0.0, 0.5), (0.25, -0.5), (0.5, -0.5), (0.75, 0.5)]);
        assert_eq!(twice, ["68.0,88.0 80.6,138.5", "130.4,138.5 143.0,88.0"]);
        assert!(lines(vec![(0.0, 2.0), (1.0, 2.0)]).is_empty());
        // A line on the frame is within it.
        assert_eq!(lines(vec![(0.0, 1.0), (1.0, 1.0)]), ["68.0,38.0 168.0,38.0"]);
    }

    #[test]
    fn no_two_marker_forms_are_equal() {
        let form = |form| {
            let mut svg = String::new();
            draw_marker(&mut svg, (10.0, 10.0), form, LARGE, &filled(hue(0)));
            svg
        };
        let forms: std::collections::HashSet<_> = (0..MARKER_FORMS).map(form).collect();
        assert_eq!(forms.len(), MARKER_FORMS);
    }

    #[test]
    fn a_long_legend_stays_within_the_chart() {
        let mut chart = Chart::new("t", Axis::linear("x"), Axis::linear("y"));
        for i in 0..40 {
            chart =
                chart.with(Series::new(format!("s{i}"), hue(i), Mark::Line, vec![(0.0, 1.0), (1.0, 0.0)]));
        }
        assert!(chart.height() >= 40.0 * LINE_HEIGHT);
    }
}
