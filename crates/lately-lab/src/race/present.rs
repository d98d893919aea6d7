//! The race as pictures and tables.

use std::collections::BTreeMap;

use super::streams::Stream;
use super::{BITS_PER_ITEM, Measured, Outcome};
use crate::report::{Axis, Chart, Mark, Section, Series, Table, hue, scientific};
use crate::rivals::{CATALOGUE, Family};

/// Contenders are compared with each other if they report at most this many expired items at the worst
/// moment, as a share of the window. Every contender that can choose its slack aims at 0.2.
const EQUAL_SLACK: f64 = 0.25;

/// The group in which a contender's outcomes, one per amount of memory, are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    KeepsWindow,
    KeepsWindowWithMoreSlack,
    ForgetsItems,
    NeverForgets,
}

fn class_of(outcomes: &[(&Outcome, &Measured)]) -> Class {
    let peak = outcomes.iter().filter_map(|(_, measured)| measured.accuracy.slack).map(|slack| slack.peak);
    if outcomes.iter().any(|(outcome, _)| outcome.contender.family == Family::Static) {
        Class::NeverForgets
    } else if outcomes.iter().any(|(_, measured)| measured.accuracy.false_negatives > 0) {
        Class::ForgetsItems
    } else if peak.fold(0.0, f64::max) > EQUAL_SLACK {
        Class::KeepsWindowWithMoreSlack
    } else {
        Class::KeepsWindow
    }
}

pub(super) fn section(outcomes: &[Outcome], is_quick: bool) -> Section {
    let mut section =
        Section::new("race", "The race: sliding-window filters with the same memory on the same streams");
    section.paragraph(
        "Every contender gets a window of w items and a fixed number of bits of memory per item, and must \
         remember the last w inserts. False negatives are items of the window that it does not report. The \
         false positive rate is measured with items that were never in the stream. The slack (NPWS) is the \
         number of items that have left the window but are still reported, beyond what false positives \
         explain, divided by the window; queries go up to three windows back. Parameters follow from memory \
         and window by a rule that each contender's source file states. Contenders that can choose their \
         slack aim at a peak of 0.2. Where strangers are often reported, the measured slack is uncertain by \
         some hundredths.",
    );
    if is_quick {
        section.paragraph(
            "This was a quick race: w = 1e6 with the distinct stream only, fewer questions (for w = 1e6 only \
             up to two windows back), and times of the distinct stream only.",
        );
    }
    for window in windows(outcomes) {
        let raced = by_contender(outcomes, Stream::Distinct, window);
        section.heading(&format!("Window of {window} items, all different"));
        frontier(&mut section, &raced, window);
        speeds(&mut section, &raced, window);
    }
    section.heading("Streams with repeats");
    section.paragraph(
        "With 32 bits per item of the window. Repeats leave more room, except in contenders where every \
         arrival takes a place of its own.",
    );
    for window in windows(outcomes) {
        streams(&mut section, outcomes, window);
    }
    section.heading("How long ago?");
    section.paragraph(
        "Some contenders tell how many inserts ago an item came. For items of the window: the distance of \
         the true age from the one told (from the middle, if a range is told), divided by the window, and how \
         often the true age is not in the range. Ours tell a range, whose width is a generation or more; the \
         inferential Timing Bloom filter tells one number.",
    );
    for window in windows(outcomes) {
        ages(&mut section, outcomes, window);
    }
    section.heading("All results");
    for window in windows(outcomes) {
        for stream in Stream::ALL {
            for bits in BITS_PER_ITEM {
                let here = |o: &&Outcome| (o.window, o.stream, o.bits_per_item) == (window, stream, bits);
                let of_course: Vec<_> = outcomes.iter().filter(here).collect();
                if !of_course.is_empty() {
                    let title = format!("{}, window {window}, {bits} bits per item", stream.name());
                    section.folded_table(&title, &table(&of_course));
                }
            }
        }
    }
    section
}

fn windows(outcomes: &[Outcome]) -> Vec<u64> {
    let mut windows: Vec<u64> = outcomes.iter().map(|outcome| outcome.window).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}

/// Outcomes by the contender's place in the catalogue.
type Raced<'a> = BTreeMap<usize, Vec<(&'a Outcome, &'a Measured)>>;

fn by_contender(outcomes: &[Outcome], stream: Stream, window: u64) -> Raced<'_> {
    let mut raced = Raced::new();
    for outcome in outcomes.iter().filter(|o| (o.stream, o.window) == (stream, window)) {
        let place = CATALOGUE.iter().position(|contender| contender.name == outcome.contender.name);
        if let (Some(place), Some(measured)) = (place, &outcome.result)
            && outcome.contender.family != Family::Exact
        {
            raced.entry(place).or_default().push((outcome, measured));
        }
    }
    raced
}

/// Adds one line per contender of a `wanted` class. The members of a family share a colour and differ by
/// marker.
fn lines(
    mut chart: Chart,
    raced: &Raced<'_>,
    wanted: impl Fn(Class) -> bool,
    point: impl Fn(&Outcome, &Measured) -> Option<Point>,
) -> Chart {
    for (&place, outcomes) in raced.iter().filter(|(_, outcomes)| wanted(class_of(outcomes))) {
        let contender = &CATALOGUE[place];
        let (colour, form) = (hue(contender.family as usize), form_of(place));
        let points: Vec<Point> =
            outcomes.iter().filter_map(|(outcome, measured)| point(outcome, measured)).collect();
        let all = points.iter().map(|point| point.at).collect();
        let bounds = points.iter().filter(|point| point.is_bound).map(|point| point.at).collect();
        let is_ours = contender.family == Family::Ours;
        chart = chart
            .with(Series::new(contender.name, colour, Mark::Marked(form), all).prominent(is_ours))
            .with(Series::new("", colour, Mark::Outlined(form), bounds));
    }
    chart
}

/// Returns a contender's number in its family, so that it has the same marker in all figures.
fn form_of(place: usize) -> usize {
    CATALOGUE[..place].iter().filter(|contender| contender.family == CATALOGUE[place].family).count()
}

fn bits_axis() -> Axis {
    Axis::linear("memory given, bits per item of the window")
        .range(14.0, 50.0)
        .ticks(BITS_PER_ITEM.map(|bits| bits as f64))
}

struct Point {
    at: (f64, f64),
    /// No stranger was reported: the true rate is lower than this one, which stands for one report in all
    /// questions.
    is_bound: bool,
}

impl Point {
    fn new(x: f64, y: f64) -> Self {
        Self { at: (x, y), is_bound: false }
    }

    fn with_rate(x: f64, measured: &Measured) -> Self {
        let accuracy = &measured.accuracy;
        let rate = accuracy.false_positives.max(1) as f64 / accuracy.stranger_queries as f64;
        Self { at: (x, rate), is_bound: accuracy.false_positives == 0 }
    }
}

fn is_compared(class: Class) -> bool {
    matches!(class, Class::KeepsWindow | Class::NeverForgets)
}

fn frontier(section: &mut Section, raced: &Raced<'_>, window: u64) {
    let rate_axis = || Axis::log("false positive rate").range(1e-7, 1.0);
    let equal = lines(
        Chart::new(
            format!("Rate against memory: no false negative, slack at most {EQUAL_SLACK}; w = {window}"),
            bits_axis(),
            rate_axis(),
        ),
        raced,
        is_compared,
        |outcome, measured| Some(Point::with_rate(outcome.bits_per_item as f64, measured)),
    );
    section.figure(
        &[equal.wide().tall()],
        "Lower is better. These contenders never lost an item of the window, and their peak slack was at \
         most 0.25 with every amount of memory, so they are comparable. For reference, static filters \
         (brown) hold one window and never forget: they show the cost of remembering alone. A white marker \
         means that no stranger was reported: it stands at one report in all questions, and the true rate is \
         lower.",
    );
    let more = lines(
        Chart::new(format!("The same with more slack; w = {window}"), bits_axis(), rate_axis()),
        raced,
        |class| class == Class::KeepsWindowWithMoreSlack,
        |outcome, measured| Some(Point::with_rate(outcome.bits_per_item as f64, measured)),
    );
    let decaying = lines(
        Chart::new(
            format!("Contenders that lose items of the window; w = {window}"),
            Axis::linear("false negatives, share of the window"),
            Axis::log("false positive rate"),
        ),
        raced,
        |class| class == Class::ForgetsItems,
        |_, measured| Some(Point::with_rate(measured.accuracy.false_negative_rate(), measured)),
    );
    section.figure(
        &[more, decaying],
        "Left: contenders that kept the window, but reported more than a quarter of a window of expired \
         items at some moment. Right: filters that forget at random, with the share of the window that they \
         lose against their false positive rate; each line goes through 16, 24, 32 and 48 bits per item, \
         from the top downwards. All other contenders have no false negatives.",
    );
}

fn speeds(section: &mut Section, raced: &Raced<'_>, window: u64) {
    const BITS: u64 = 32;
    let chart = |title: &str| {
        let time = Axis::log("mean time, nanoseconds").range(5.0, 5000.0);
        Chart::new(format!("{title}; w = {window}"), bits_axis(), time).tall()
    };
    let time = |of: fn(&Measured) -> Option<f64>| {
        move |outcome: &Outcome, measured: &Measured| {
            Some(Point::new(outcome.bits_per_item as f64, of(measured)?))
        }
    };
    let insert = lines(
        chart("Time of one insert"),
        raced,
        is_compared,
        time(|measured| Some(measured.speed?.insert.mean)),
    );
    let query = lines(
        chart("Time of one query"),
        raced,
        is_compared,
        time(|measured| Some(measured.speed?.query.mean)),
    );
    section.figure(
        &[insert, query],
        "Time of one insert and of one query (half for items of the window, half for strangers) against \
         memory, without hashing the item; lower is better. Medians over stretches of 500 operations (200 \
         for w = 10000), one after the other, without batches; contenders take turns. The contenders are \
         those of the large figure above.",
    );
    let both = lines(
        Chart::new(
            format!("Rate against time, with {BITS} bits per item; w = {window}"),
            Axis::log("time of a query and an insert, nanoseconds")
                .range(20.0, 5000.0)
                .ticks([20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]),
            Axis::log("false positive rate").range(1e-7, 1.0),
        ),
        raced,
        is_compared,
        |outcome, measured| {
            let speed = measured.speed.filter(|_| outcome.bits_per_item == BITS)?;
            Some(Point::with_rate(speed.query.mean + speed.insert.mean, measured))
        },
    );
    section.figure(
        &[both.wide().tall()],
        "All have the same memory: nearer to the lower left is better in both rate and speed. A contender \
         with no other one to its lower left is the best choice for some balance of the two.",
    );
}

fn streams(section: &mut Section, outcomes: &[Outcome], window: u64) {
    const BITS: u64 = 32;
    let mut table = Table::new(
        ["contender".to_owned()]
            .into_iter()
            .chain(Stream::ALL.map(|stream| format!("rate, {}", stream.name()))),
    );
    let mut has_some = false;
    for contender in CATALOGUE {
        let result = |stream: Stream| {
            let here = |o: &&Outcome| {
                (o.window, o.stream, o.bits_per_item) == (window, stream, BITS)
                    && o.contender.name == contender.name
            };
            outcomes.iter().find(here)?.result.as_ref()
        };
        let results = Stream::ALL.map(result);
        has_some |= results[1].is_some();
        if results[0].is_some() && contender.family != Family::Exact {
            let row = &mut table.row();
            row.text(contender.name);
            for result in results {
                let text = result
                    .map_or("not run".into(), |result| scientific(result.accuracy.false_positive_rate()));
                row.bad_if(text, result.is_some_and(|result| result.accuracy.false_negatives > 0));
            }
        }
    }
    if has_some {
        section.folded_table(
            &format!(
                "False positive rates by stream, window {window}, {BITS} bits per item (red: loses items of \
                 the window)"
            ),
            &table,
        );
    }
}

fn ages(section: &mut Section, outcomes: &[Outcome], window: u64) {
    let mut table =
        Table::new(["contender", "stream", "bits", "mean error", "largest error", "not in range"]);
    for outcome in outcomes.iter().filter(|outcome| outcome.window == window) {
        let Some(ages) = outcome.result.as_ref().and_then(|result| result.accuracy.ages) else { continue };
        let mut row = table.row();
        row.text(outcome.contender.name);
        row.text(outcome.stream.name());
        row.number(outcome.bits_per_item.to_string());
        row.number(format!("{:.4}", ages.mean() / window as f64));
        row.number(format!("{:.3}", ages.largest() / window as f64));
        row.number(scientific(ages.wrong_share()));
    }
    section.folded_table(&format!("Errors of ages, window {window}"), &table);
}

fn table(outcomes: &[&Outcome]) -> Table {
    let mut table = Table::new([
        "contender",
        "false negatives",
        "false negative rate",
        "false positive rate",
        "mean slack",
        "peak slack",
        "insert, ns",
        "insert 99.9%, ns",
        "query, ns",
        "query 99.9%, ns",
        "bits per item used",
        "parameters",
    ]);
    for outcome in outcomes {
        let mut row = table.row();
        row.text(outcome.contender.name);
        let Some(measured) = &outcome.result else {
            (0..10).for_each(|_| {
                row.number("");
            });
            row.text(outcome.note);
            continue;
        };
        let accuracy = &measured.accuracy;
        let lost = accuracy.false_negatives;
        row.bad_if(format!("{lost} of {}", accuracy.window_queries), lost > 0);
        row.bad_if(scientific(accuracy.false_negative_rate()), lost > 0);
        row.number(scientific(accuracy.false_positive_rate()));
        let never = || "never forgets".to_owned();
        row.number(accuracy.slack.map_or_else(never, |slack| format!("{:.3}", slack.mean)));
        row.number_if(
            accuracy.slack.map_or_else(never, |slack| format!("{:.3}", slack.peak)),
            accuracy.slack.is_none_or(|slack| slack.peak > EQUAL_SLACK),
        );
        let times = measured.speed.map(|s| [s.insert.mean, s.insert.p999, s.query.mean, s.query.p999]);
        for i in 0..4 {
            row.number(times.map_or(String::new(), |times| format!("{:.0}", times[i])));
        }
        row.number(format!("{:.2}", measured.memory_bits as f64 / outcome.window as f64));
        row.text(measured.parameters.as_str());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::MARKER_FORMS;

    #[test]
    fn no_two_contenders_look_the_same() {
        let looks = |place: usize| (hue(CATALOGUE[place].family as usize), form_of(place) % MARKER_FORMS);
        let all: std::collections::HashSet<_> = (0..CATALOGUE.len()).map(looks).collect();
        assert_eq!(all.len(), CATALOGUE.len());
    }
}
