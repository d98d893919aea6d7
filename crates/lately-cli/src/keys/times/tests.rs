//! All spellings of time, alone and one after another.

use super::*;

fn times(format: TimeFormat, zone: &str) -> Times {
    // 2024-06-01T00:00:00Z.
    Times::new(format, zone.parse().unwrap(), 1_717_200_000_000, 86_400_000)
}

/// Reads each text as the first one of a file.
#[track_caller]
fn check(mut times: Times, expected: &[(&str, u64)], unreadable: &[&str]) {
    for (text, ms) in expected {
        times.start_file();
        assert_eq!(times.read(text.as_bytes()), Ok(*ms), "{text}");
    }
    for text in unreadable {
        times.start_file();
        assert_eq!(times.read(text.as_bytes()), Err(Missing::UnreadableTime), "{text}");
    }
}

#[test]
fn the_unit_of_a_number_follows_from_its_value() {
    check(
        times(TimeFormat::Unit(TimeUnit::Auto), "UTC"),
        &[
            ("1700000000", 1_700_000_000_000),
            ("1700000000.25", 1_700_000_000_250),
            ("1700000000.123456", 1_700_000_000_123),
            ("1700000000123", 1_700_000_000_123),
            (" 99999999999 ", 99_999_999_999_000),
            ("100000000000", 100_000_000_000),
            ("1700000000123456", 1_700_000_000_123),
            ("1700000000123456789", 1_700_000_000_123),
            // Programs that know a column only as floating point write whole numbers like this.
            ("1700000000123.5", 1_700_000_000_123),
            ("1700000000123456.0", 1_700_000_000_123),
            ("1700000000123456789.0", 1_700_000_000_123),
            ("9999999999999999999", 9_999_999_999_999),
            ("20241301", 20_241_301_000),
        ],
        &[
            "",
            "x",
            "-5",
            "1.",
            ".5",
            "1700000000123.5.5",
            "1700000000123.5e0",
            "12e3",
            "1e300",
            "10000000000000000000",
            "99999999999999999999",
            // Dates in digits would be read as days in 1970 or as the year 2611.
            "20240501",
            "20240501123000",
            "20240501.0",
        ],
    );
}

#[test]
fn zero_is_a_time_in_every_unit() {
    let mut times = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    for (text, ms) in [("0", 0), ("1700000000123", 1_700_000_000_123), ("0.0", 0)] {
        assert_eq!(times.read(text.as_bytes()), Ok(ms), "{text}");
    }
    assert_eq!(times.read(b"1"), Err(Missing::OtherSpelling));
}

#[test]
fn a_fixed_unit_overrides_the_guess() {
    let unit = |unit| times(TimeFormat::Unit(unit), "UTC");
    check(
        unit(TimeUnit::S),
        &[("5", 5_000), ("20240501", 20_240_501_000)],
        &["100000000000", "2023-11-14T22:13:20Z"],
    );
    check(unit(TimeUnit::Ms), &[("5", 5), ("5.9", 5)], &["5.", "5.5.5", "100000000000000"]);
    check(unit(TimeUnit::Us), &[("5999", 5), ("5999.0", 5)], &["5,5", "100000000000000000"]);
    check(unit(TimeUnit::Ns), &[("5999999", 5), ("5999999.9", 5)], &["-5"]);
    check(unit(TimeUnit::Rfc3339), &[("1970-01-01T00:00:00Z", 0)], &["5", "1970-01-01T00:00:00"]);
}

#[test]
fn dates_with_a_zone_in_all_their_forms() {
    check(
        times(TimeFormat::Unit(TimeUnit::Auto), "America/New_York"),
        &[
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T23:00:00-01:00", 0),
            ("1970-01-01T02:00:00+0200", 0),
            ("1970-01-01 02:00:00 +0200", 0),
            ("1970-01-01 00:00:00 UTC", 0),
            ("2000-02-29t12:00:00.5z", 951_825_600_500),
            ("2000-02-29 12:00:00,5Z", 951_825_600_500),
            // A leap second counts as the second before it.
            ("2016-12-31 23:59:60Z", 1_483_228_799_000),
            ("2016-12-31 23:59:60.5Z", 1_483_228_799_500),
            ("9999-12-30T21:59:59.999Z", 253_402_207_199_999),
        ],
        &[
            "1969-12-31T23:59:59Z",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2023-13-01T00:00:00Z",
            "2023-00-01T00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:60:00Z",
            "2023-01-01T00:00:00.Z",
            "2023-01-01",
            "-0005-01-01T00:00:00Z",
            "-000005-01-01T00:00:00Z",
            "12024-01-01T00:00:00Z",
            "2024-05-01 12:30:00 UTC+2",
        ],
    );
}

#[test]
fn dates_without_a_zone_are_in_the_zone_of_the_flag() {
    let auto = TimeFormat::Unit(TimeUnit::Auto);
    let text = "2024-05-01 12:30:00";
    for (zone, ms) in [
        ("UTC", 1_714_566_600_000),
        ("America/New_York", 1_714_581_000_000),
        ("+02:00", 1_714_559_400_000),
        ("Asia/Kathmandu", 1_714_545_900_000),
    ] {
        check(
            times(auto.clone(), zone),
            &[(text, ms), ("01/May/2024:12:30:00", ms), ("May  1 12:30:00", ms)],
            &[],
        );
    }
    assert!("Mars/Base".parse::<Zone>().unwrap_err().contains("Europe/Berlin"));
}

#[test]
fn an_hour_that_comes_twice_is_the_one_nearest_to_the_record_before() {
    let hour = 3_600_000;
    let first = 1_730_611_800_000;
    let expected = [
        // Without a record before, the first one.
        ("2024-11-03 01:30:00", first),
        ("2024-11-03 01:59:59", first + hour / 2 - 1_000),
        // Clocks went back at 02:00.
        ("2024-11-03 01:00:00", first + hour / 2),
        ("2024-11-03 01:00:01", first + hour / 2 + 1_000),
        ("2024-11-03 01:30:00", first + hour),
        ("2024-11-03 02:00:00", first + 3 * hour / 2),
        // Clocks went forward at 02:00, so there was no such time: it is as long after as it says.
        ("2025-03-09 02:30:00", 1_741_505_400_000),
        ("2025-03-09 03:30:00", 1_741_505_400_000),
    ];
    let mut all = times(TimeFormat::Unit(TimeUnit::Auto), "America/New_York");
    // The record may name the zone itself.
    let pattern = TimeFormat::Pattern("%Y-%m-%d %H:%M:%S[%Q]".parse().unwrap());
    let mut named = times(pattern, "UTC");
    for (text, ms) in expected {
        assert_eq!(all.read(text.as_bytes()), Ok(ms), "{text}");
        assert_eq!(named.read(format!("{text}[America/New_York]").as_bytes()), Ok(ms), "{text}");
    }
}

#[test]
fn logs_of_web_servers_and_syslog() {
    check(
        times(TimeFormat::Unit(TimeUnit::Auto), "UTC"),
        &[
            ("[10/Oct/2000:13:55:36 -0700]", 971_211_336_000),
            ("10/Oct/2000:13:55:36 -0700", 971_211_336_000),
            ("[10/Oct/2000:13:55:36", 971_186_136_000),
        ],
        &["10/Okt/2000:13:55:36", "[10/Oct/2000", "Oct 32 00:00:00", "Octo 1 00:00:00", "Oct 10", "[", "Oct"],
    );
}

#[test]
fn a_year_that_is_not_written_is_the_nearest() {
    let mut times = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    let year_2023 = 1_672_531_200_000;
    let day = 86_400_000;
    // The first: at most a day after the system's clock.
    assert_eq!(times.read(b"Jun  2 00:00:01"), Ok(year_2023 + 152 * day + 1_000), "a day later is last year");
    times = self::times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    assert_eq!(times.read(b"Jun  2 00:00:00"), Ok(year_2023 + (365 + 153 - 1) * day + day));
    // The others: near the one before.
    times = self::times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    assert_eq!(times.read(b"Dec 31 23:59:59"), Ok(year_2023 + 365 * day - 1_000));
    assert_eq!(times.read(b"Jan  1 00:00:00"), Ok(year_2023 + 365 * day));
    assert_eq!(times.read(b"Dec 31 23:59:59"), Ok(year_2023 + 365 * day - 1_000));
    assert_eq!(times.read(b"Feb 29 00:00:00"), Ok(year_2023 + (365 + 59) * day));
    // The nearest 29 February is four years away from some years.
    assert_eq!(times.read(b"Feb 30 00:00:00"), Err(Missing::UnreadableTime));
}

#[test]
fn another_spelling_in_the_same_file_is_not_guessed() {
    let mut times = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    let all = [
        "1700000000",
        "1700000000000",
        "1700000000000000",
        "1700000000000000000",
        "2023-11-14T22:13:20Z",
        "2023-11-14T22:13:20",
        "14/Nov/2023:22:13:20 +0000",
        "Nov 14 22:13:20",
    ];
    for first in all {
        times.start_file();
        assert_eq!(times.read(first.as_bytes()), Ok(1_700_000_000_000), "{first}");
        for other in all.into_iter().filter(|other| *other != first) {
            assert_eq!(times.read(other.as_bytes()), Err(Missing::OtherSpelling), "{first}, {other}");
            let told = times.explain(other.as_bytes());
            assert!(told.contains(other) && told.contains(", but the file's first time is "), "{told}");
        }
        assert_eq!(times.read(first.as_bytes()), Ok(1_700_000_000_000), "{first} again");
    }
}

#[test]
fn times_of_the_same_minute_are_read_as_if_alone() {
    let texts = [
        "2024-05-01T12:30:00Z",
        "2024-05-01T12:30:59.999Z",
        "2024-05-01T12:30:60Z",
        "2024-05-01 12:30:07+0200",
        "2024-05-01 12:30:08+0300",
        "2024-05-01 12:30:08 +0300",
        "2024-05-01 12:30:09 +0300",
        "2024-05-01T12:30+02:00",
        "2024-05-01T12:30:1Z",
        "2024-05-01T12:31:00Z",
    ];
    let mut all = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    for text in texts.iter().chain(texts.iter().rev()) {
        let mut alone = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
        assert_eq!(all.read(text.as_bytes()), alone.read(text.as_bytes()), "{text}");
    }
    let mut logs = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    for second in 0..60 {
        let text = format!("[10/Oct/2000:13:55:{second:02} -0700]");
        assert_eq!(logs.read(text.as_bytes()), Ok(971_211_300_000 + second * 1_000));
    }
}

/// The minute that is remembered must change no answer, whatever comes before.
#[test]
fn a_remembered_minute_changes_no_answer() {
    // A fixed sequence (xorshift), so a failure comes again.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end as u64) as usize
    };
    let mut pick = |parts: &[&str]| parts[below(parts.len())].to_string();
    let seconds = ["00", "07", "59", "60", "61", "7", "", "007", "0a", "-1"];
    let decimals = ["", "", ".5", ",5", ".", ".123456789", ".0123456789", ".12x"];
    for zone in ["UTC", "Europe/Berlin", "-05:30", "Australia/Lord_Howe"] {
        for round in 0..60 {
            let unit = if round % 6 == 0 { TimeUnit::Rfc3339 } else { TimeUnit::Auto };
            let mut fast = times(TimeFormat::Unit(unit), zone);
            let mut slow = times(TimeFormat::Unit(unit), zone);
            for _ in 0..100 {
                let (second, decimal) = (pick(&seconds), pick(&decimals));
                let minute =
                    pick(&["12:30:", "12:31:", "02:30:", "02:59:", "12:30", "1230", "12:3:", "24:00:"]);
                let offset =
                    pick(&["Z", "", "+02:00", "+0200", " +0200", " UTC", "Z[UTC]", "+02:00:07", "z"]);
                let text = match (pick(&["0", "1", "2", "3"]).as_str(), round % 3) {
                    ("0", _) | (_, 0) => {
                        let day =
                            pick(&["2024-10-27", "2024-03-31", "+002024-10-27", "20241027", "2024-1-27"]);
                        format!("{day}{}{minute}{second}{decimal}{offset}", pick(&["T", " ", "t", "  "]))
                    }
                    (_, 1) => {
                        let day = pick(&["[27/Oct/2024:", "27/Oct/2024:", "[1/Oct/2024:", "[27/oct/2024:"]);
                        let zone = pick(&[" -0700]", " -0700", "]", "", " -07:00]", " ]"]);
                        format!("{day}{minute}{second}{decimal}{zone}")
                    }
                    _ => {
                        let day = pick(&["Oct 27 ", "Oct  1 ", "Dec 31 ", "Jan  1 ", "Feb 29 ", "oct 27 "]);
                        format!("{day}{minute}{second}{decimal}{}", pick(&["", " ", " x"]))
                    }
                };
                slow.minute.forget();
                let (fast, slow) = (fast.read(text.as_bytes()), slow.read(text.as_bytes()));
                assert_eq!(fast, slow, "{text} in {zone}");
            }
        }
    }
}

#[test]
fn patterns_describe_any_other_spelling() {
    let pattern = |text: &str, zone| times(TimeFormat::Pattern(text.parse().unwrap()), zone);
    check(
        pattern("%d.%m.%Y %H:%M", "Europe/Berlin"),
        &[("01.05.2024 12:30", 1_714_559_400_000)],
        &["2024-05-01 12:30", "01.05.2024", "31.04.2024 12:30"],
    );
    // A date alone is its first moment.
    check(pattern("%Y%m%d", "UTC"), &[("20240501", 1_714_521_600_000)], &["2024050", "x"]);
    check(
        pattern("%Y-%m-%dT%H:%M:%S%.f%z", "Europe/Berlin"),
        &[("2024-05-01T12:30:00.5+0200", 1_714_559_400_500)],
        &[],
    );
    check(pattern("%s", "UTC"), &[("1700000000", 1_700_000_000_000)], &["-1"]);
    check(
        pattern("%Y-%m-%dT%H:%M:%S[%Q]", "UTC"),
        &[("2024-05-01T12:30:00[Europe/Berlin]", 1_714_559_400_000)],
        &["2024-05-01T12:30:00[Mars/Base]"],
    );
    check(pattern("%d %b %H:%M", "UTC"), &[("01 Jun 00:00", 1_717_200_000_000)], &[]);
    // The seconds, or the whole time of day, may be missing.
    for right in [
        "%F",
        "%F %H",
        "%F %R",
        "%F %I %p",
        "%D %T",
        "%s",
        "%d %b %I:%M:%S %p",
        "%F %T %z",
        "%A %d %B %Y",
        "%Y%j",
    ] {
        assert!(right.parse::<Pattern>().is_ok(), "{right}: {:?}", right.parse::<Pattern>());
    }
    for (wrong, named) in [
        ("%H:%M", "no date"),
        ("%i", "`i`"),
        ("", "no date"),
        ("%Y-%m-%d %Z", "abbreviation"),
        // 3 o'clock could be 15 o'clock.
        ("%F %I:%M", "%I needs %p"),
        ("%F %M", "%M needs %H"),
        ("%F %H %S", "%S needs"),
    ] {
        let told = wrong.parse::<Pattern>().unwrap_err();
        assert!(told.contains(named) && told.contains("%Y-%m-%d %H:%M:%S"), "{wrong}: {told}");
    }
}

#[test]
fn a_text_that_is_no_time_is_explained() {
    let times = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    for (text, problem) in [
        ("2024-05-01", "without a time of day"),
        ("20240501", "--time-unit s"),
        ("-000005-01-01T00:00:00Z", "before 1970"),
        ("-5", "before 1970"),
        ("1e300", "is a number, but not a time since 1970 in digits"),
        ("+1700000000", "is a number, but not a time since 1970 in digits"),
        ("", "is empty"),
        ("\"1700000000\"", "is in quotes; if the file is CSV, use --csv"),
        ("12:30:00", "is a time of day without a date"),
        ("1969-12-31T23:59:59Z", "is before 1970"),
        ("9999-12-31T23:59:59Z", "is after the last time"),
        ("2024-05-01T12:30:00[Europe/Berlin]", "--time-format '%Y-%m-%dT%H:%M:%S[%Q]'"),
        ("soon", "not a time that lately knows"),
    ] {
        let told = times.explain(text.as_bytes());
        assert!(told.starts_with(&format!("`{text}` ")) && told.contains(problem), "{told}");
    }
    assert!(times.explain(b"\x1b[2J\xff").starts_with("`\u{fffd}[2J\u{fffd}` "));
}

#[test]
fn longer_years_and_times_without_minutes_are_not_mistaken_for_the_minute_before() {
    let hour = 3_600_000;
    for (texts, apart) in [
        (["+002024-05-01T12:30:00Z", "+002024-05-01T12:45:00Z"], hour / 4),
        (["2024-05-01T12+02:30", "2024-05-01T12+02:00"], hour / 2),
    ] {
        let mut times = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
        let read = texts.map(|text| times.read(text.as_bytes()));
        if let [Ok(first), Ok(second)] = read {
            assert_eq!(second - first, apart, "{texts:?}");
        }
    }
}

#[test]
fn a_time_that_is_not_believed_decides_no_spelling() {
    let mut times = times(TimeFormat::Unit(TimeUnit::Auto), "UTC");
    assert_eq!(times.read(b"99999999999999"), Ok(99_999_999_999_999));
    assert_eq!(times.read(b"1700000000"), Ok(1_700_000_000_000));
    assert_eq!(times.read(b"1700000000123"), Err(Missing::OtherSpelling));
}
