//! Times in every spelling: what jiff writes is read as it was written, and any text is read as jiff reads it.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Input, NOW_MS, reader_of_times};
use crate::keys::{Delimiter, Fields, Format, Keys, Missing, Pattern, TimeFormat, TimeUnit, Zone};

const ZONES: [&str; 7] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "-05:30",
    "Pacific/Apia",
];

/// The last moment that is a time in every zone.
const END_MS: u64 = 253_402_000_000_000;

/// What a spelling tells of a time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    Moment,
    /// Without an offset, an hour comes twice.
    Local,
    /// The year is the nearest one.
    WithoutYear,
}

use Tells::{Local, Moment, WithoutYear};

/// How jiff writes a time, how many milliseconds are lost, and what it tells.
const SPELLINGS: [(&str, u64, Tells); 12] = [
    ("%Y-%m-%dT%H:%M:%S%.3f%:z", 1, Moment),
    ("%Y-%m-%d %H:%M:%S%.9f%z", 1, Moment),
    ("%Y-%m-%d %H:%M:%S%.f %z", 1, Moment),
    ("%Y-%m-%dt%H:%M:%S%:z", 1_000, Moment),
    ("%Y-%m-%dT%H:%M%:z", 60_000, Moment),
    ("[%d/%b/%Y:%H:%M:%S %z]", 1_000, Moment),
    ("%d/%b/%Y:%H:%M:%S%.3f %z", 1, Moment),
    ("%Y-%m-%d %H:%M:%S%.3f", 1, Local),
    ("%Y-%m-%dT%H:%M:%S", 1_000, Local),
    ("[%d/%b/%Y:%H:%M:%S", 1_000, Local),
    ("%b %e %H:%M:%S", 1_000, WithoutYear),
    ("%b %d %H:%M:%S%.3f", 1, WithoutYear),
];

/// The same for `--time-format`.
const PATTERNS: [(&str, u64, Tells); 8] = [
    ("%d.%m.%Y %H:%M:%S", 1_000, Local),
    ("%m/%d/%y %I:%M:%S %p", 1_000, Local),
    ("%Y%j %H%M", 60_000, Local),
    ("%A, %d %B %Y, %T%.3f", 1, Local),
    ("%Y-%m-%dT%H:%M:%S[%Q]", 1_000, Local),
    ("%d %b %Y %H:%M %z", 60_000, Moment),
    ("%s", 1_000, Moment),
    ("%d %b %H:%M:%S", 1_000, WithoutYear),
];

const UNITS: [(TimeUnit, u64); 4] =
    [(TimeUnit::S, 1), (TimeUnit::Ms, 1_000), (TimeUnit::Us, 1_000_000), (TimeUnit::Ns, 1_000_000_000)];

/// Checks that each time is read as it was written.
pub fn times(bytes: &[u8]) {
    let mut input = Input(bytes);
    match input.byte() % 4 {
        0 => written_by_jiff(input, &SPELLINGS, |_| TimeFormat::Unit(TimeUnit::Auto)),
        1 => written_by_jiff(input, &PATTERNS, |pattern| {
            let pattern = pattern.parse::<Pattern>();
            TimeFormat::Pattern(pattern.unwrap_or_else(|error| panic!("a known pattern: {error}")))
        }),
        2 => numbers(input),
        _ => texts(input.rest()),
    }
}

struct Reader(Keys);

impl Reader {
    fn new(format: TimeFormat, zone: &str, now_ms: u64) -> Self {
        let zone: Zone = zone.parse().unwrap_or_else(|error| panic!("a known zone: {error}"));
        let fields = Format::Fields(Fields::new(Delimiter::text(b"\0"), [1]));
        let times = reader_of_times(format, zone, now_ms);
        Self(Keys::new(Some(fields), (0, 1), Some(times), b'\n', false))
    }

    fn read(&mut self, text: &[u8]) -> Result<u64, Missing> {
        let read = self.0.key_of(text).map(|key| key.time_ms.expect("it is asked for"));
        if read.is_err() {
            let told = self.0.explain_time(text);
            assert!(told.starts_with('`') && told.len() > 5, "{told}");
        }
        read
    }
}

/// Some times near each other, one after the other.
fn written_by_jiff(mut input: Input<'_>, all: &[(&str, u64, Tells)], format: impl Fn(&str) -> TimeFormat) {
    let (spelling, lost, tells) = input.one_of(all);
    let zone_name = input.one_of(&ZONES);
    let zone: TimeZone = match TimeZone::get(zone_name) {
        Ok(zone) => zone,
        Err(_) => jiff::tz::offset(-5).to_time_zone(),
    };
    // The fixed offset has no name that jiff finds.
    let zone_name = if TimeZone::get(zone_name).is_ok() { zone_name } else { "-05:00" };
    if spelling.contains("%Q") && zone_name.starts_with('-') {
        return;
    }
    let mut ms = input.number(6) % END_MS;
    // `%y` is a year from 1969 to 2068.
    if spelling.contains("%y") {
        ms %= 3_000_000_000_000;
    }
    let floor = |ms: u64| ms - ms % lost;
    let mut reader = Reader::new(format(spelling), zone_name, ms);
    for _ in 0..=input.byte() % 8 {
        let zoned = Timestamp::from_millisecond(ms.cast_signed()).expect("in range").to_zoned(zone.clone());
        let text = zoned.strftime(spelling).to_string();
        let told = || format!("`{text}` as `{spelling}` in {zone_name}, {ms}");
        let read = reader.read(text.as_bytes());
        let datetime = zoned.datetime();
        let possible = zone.to_ambiguous_timestamp(datetime);
        match (read, tells) {
            // An hour that comes twice is near the time before.
            (Ok(read), WithoutYear | Local) if possible.is_ambiguous() => {
                let distance = read.abs_diff(floor(ms));
                assert!(distance <= 3_600_000, "{}: {read}", told());
            }
            (read, _) => assert_eq!(read, Ok(floor(ms)), "{}", told()),
        }
        let (step, is_back) = (input.number(2), input.byte() & 1 == 1);
        let step = if is_back { step } else { step * step / 50 };
        ms = if is_back { ms.saturating_sub(step) } else { (ms + step).min(END_MS) };
    }
}

/// Numbers since 1970, with and without decimals.
fn numbers(mut input: Input<'_>) {
    let (unit, per_second) = input.one_of(&UNITS);
    let is_guessed = input.byte() & 1 == 1;
    let seconds = input.number(5) % 100_000_000_000;
    let (rest, decimals) = (input.number(4) % per_second, input.byte() % 8);
    let Some(value) = seconds.checked_mul(per_second).and_then(|value| value.checked_add(rest)) else {
        return;
    };
    let mut text = value.to_string();
    let mut expected_ms = u128::from(value) * 1_000 / u128::from(per_second);
    if decimals > 0 {
        let digits: String = (0..decimals).map(|_| char::from(b'0' + input.byte() % 10)).collect();
        if unit == TimeUnit::S {
            let thousandths: u128 = format!("{digits:0<3}")[..3].parse().expect("digits");
            expected_ms += thousandths;
        }
        text = format!("{text}.{digits}");
    }
    // More digits are no time.
    let fits = value.to_string().len() <= 19;
    let read = Reader::new(TimeFormat::Unit(unit), "UTC", NOW_MS).read(text.as_bytes());
    let expected_ms = u64::try_from(expected_ms).expect("it fits");
    assert_eq!(read, if fits { Ok(expected_ms) } else { Err(Missing::UnreadableTime) }, "{text} in {unit:?}");
    if is_guessed && fits {
        let guessed = Reader::new(TimeFormat::Unit(TimeUnit::Auto), "UTC", NOW_MS).read(text.as_bytes());
        let limits =
            [(100_000_000_000, 1), (100_000_000_000_000, 1_000), (100_000_000_000_000_000, 1_000_000)];
        let by_size = limits.iter().find(|(end, _)| value < *end).map_or(1_000_000_000, |(_, unit)| *unit);
        if by_size == per_second {
            // It may look like a date in digits.
            let may_be_date = matches!(value.to_string().len(), 8 | 14) && guessed.is_err();
            assert!(may_be_date || guessed == Ok(expected_ms), "{text}: {guessed:?}, not {expected_ms}");
        }
    }
}

/// Any lines: read after each other as alone, and those that jiff reads, as jiff does.
fn texts(bytes: &[u8]) {
    let auto = || TimeFormat::Unit(TimeUnit::Auto);
    let mut all = Reader::new(auto(), "UTC", NOW_MS);
    for text in bytes.split(|byte| *byte == b'\n') {
        let (read, alone) = (all.read(text), Reader::new(auto(), "UTC", NOW_MS).read(text));
        let shown = String::from_utf8_lossy(text);
        // A year that is not written depends on the times before.
        let has_year = !text.trim_ascii().first().is_some_and(u8::is_ascii_alphabetic);
        match (read, alone) {
            (Err(Missing::OtherSpelling), Ok(_)) => {}
            (Ok(_), Ok(_)) if !has_year => {}
            (read, alone) => assert_eq!(read, alone, "{shown}"),
        }
        if let Some(theirs) = str::from_utf8(text).ok().and_then(|text| text.parse::<Timestamp>().ok()) {
            let expected =
                u64::try_from(theirs.as_millisecond()).ok().filter(|_| theirs >= Timestamp::UNIX_EPOCH);
            let ours = Reader::new(TimeFormat::Unit(TimeUnit::Rfc3339), "UTC", NOW_MS).read(text);
            assert_eq!(ours.ok(), expected, "{shown}");
        }
    }
}
