//! Draws the memory that each layout needs for each slack.

use std::fmt::Write as _;

use lately::{Layout, Prefer, Promise};

use crate::commands::human::human_window;
use crate::failure::Failure;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

/// Slacks at which plans are made, and the ends of the axis.
const SLACKS: [f64; 7] = [0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.5];
const LEAST_SLACK: f64 = SLACKS[0];
const MOST_SLACK: f64 = SLACKS[SLACKS.len() - 1];

/// The colours of the layouts' curves.
const COLOURS: [&str; 4] = ["#0b6e4f", "#c1661c", "#2457a6", "#8a2f8f"];
/// Labels of curves are at least this far apart.
const LABEL_HEIGHT: f64 = 14.0;

/// (requested slack, bits per item).
type Curve = Vec<(f64, f64)>;

pub(super) fn svg(promise: &Promise) -> Result<String, Failure> {
    let curves = frontiers(promise);
    let most = curves.iter().flatten().map(|(_, bits)| *bits).fold(0.0, f64::max);
    // If no plan is possible, this fails with the library's reason.
    let plan = promise.plan()?;
    if curves.iter().all(Vec::is_empty) {
        return Err(Failure::Usage(format!(
            "--plot: no filter for {} has a slack of {MOST_SLACK} or less, so there is nothing to draw; \
             ask for a larger window, or leave --plot out",
            human_window(&plan.window)
        )));
    }
    let step = tick_step(most);
    let top = (most / step).ceil() * step;
    let y = |bits: f64| HEIGHT - BOTTOM - bits / top * (HEIGHT - TOP - BOTTOM);

    let mut svg = String::new();
    let mut element = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(svg, "{text}");
    };
    element(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">"#
    ));
    element(format!(r#"<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>"#));
    let title = format!(
        "Least memory of each layout for {}, rate {:.1e}",
        human_window(&plan.window),
        promise.false_positive_rate.unwrap_or(plan.false_positive_rate)
    );
    element(format!(r#"<text x="{LEFT}" y="24" font-size="15">{title}</text>"#));
    let (left, right, bottom) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
    for slack in SLACKS {
        let at = x(slack);
        element(format!(r##"<line x1="{at:.1}" y1="{TOP}" x2="{at:.1}" y2="{bottom}" stroke="#e4e4e4"/>"##));
        element(format!(r#"<text x="{at:.1}" y="{}" text-anchor="middle">{slack}</text>"#, bottom + 18.0));
    }
    let ticks = (top / step).round() as u32;
    for bits in (0..=ticks).map(|tick| f64::from(tick) * step) {
        let at = y(bits);
        element(format!(r##"<line x1="{left}" y1="{at:.1}" x2="{right}" y2="{at:.1}" stroke="#e4e4e4"/>"##));
        element(format!(r#"<text x="{}" y="{:.1}" text-anchor="end">{bits}</text>"#, left - 8.0, at + 4.0));
    }
    let middle = f64::midpoint(left, right);
    element(format!(
        r#"<text x="{middle}" y="{}" text-anchor="middle">slack at most (share of the window)</text>"#,
        HEIGHT - 14.0
    ));
    element(format!(r#"<text x="{left}" y="{}" text-anchor="middle">bits per item</text>"#, TOP - 8.0));
    let mut labels = Vec::new();
    for ((layout, colour), curve) in Layout::ALL.iter().zip(COLOURS.iter().cycle()).zip(&curves) {
        let Some((slack, bits)) = curve.last() else { continue };
        let points: Vec<String> =
            curve.iter().map(|(slack, bits)| format!("{:.1},{:.1}", x(*slack), y(*bits))).collect();
        element(format!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            points.join(" ")
        ));
        labels.push((x(*slack) + 8.0, y(*bits) + 4.0, format!(r#"fill="{colour}">{layout} {bits:.1}"#)));
    }
    // From the lowest up, so that no label covers another one.
    labels.sort_by(|one, other| other.1.total_cmp(&one.1));
    let mut lowest = f64::INFINITY;
    for (x, y, label) in labels {
        lowest = y.min(lowest - LABEL_HEIGHT);
        element(format!(r#"<text x="{x:.1}" y="{lowest:.1}" {label}</text>"#));
    }
    element("</svg>".into());
    Ok(svg)
}

fn x(slack: f64) -> f64 {
    let share = (slack / LEAST_SLACK).ln() / (MOST_SLACK / LEAST_SLACK).ln();
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

/// Returns a curve for each layout; it is empty if the layout cannot keep the promise.
fn frontiers(promise: &Promise) -> Vec<Curve> {
    let of_layout = |layout: &Layout| {
        let mut promise = *promise;
        promise.layout = Some(*layout);
        frontier(promise)
    };
    Layout::ALL.iter().map(of_layout).collect()
}

/// Returns the least memory for each slack that can be kept.
fn frontier(mut promise: Promise) -> Curve {
    promise.prefer = Prefer::Memory;
    promise.max_memory = None;
    let plan_with = |slack: f64| {
        promise.max_slack = Some(slack);
        promise.plan().ok().map(|plan| (slack, plan.bits_per_item))
    };
    let mut least = f64::INFINITY;
    let mut curve: Curve = SLACKS.into_iter().filter_map(plan_with).collect();
    // A plan for less slack is also a plan for more slack. So the curve never rises, and the planner's
    // tolerance of a few percent does not show.
    for (_, bits) in &mut curve {
        least = least.min(*bits);
        *bits = least;
    }
    curve
}

/// Returns a step of 1, 2 or 5 times a power of ten that gives at most eight ticks.
fn tick_step(most: f64) -> f64 {
    let magnitude = 10_f64.powf((most / 8.0).max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * magnitude)
        .find(|step| most / step <= 8.0)
        .unwrap_or(most)
}
