//! What happens only after years: generations beyond 2^32, clocks from 1970 to the year 10000, and as many inserts as
//! there is time for.

mod common;

use std::time::{Duration, Instant};

use common::generations::Generations;
use common::{ExactWindow, Random, item, shapes, with_shape};
use lately::{Builder, Filter, Layout};

/// A filter without items, after so many shifts.
fn at_generation(builder: &Builder, generation: u64) -> Filter {
    let mut blueprint = builder.build().unwrap().blueprint();
    let content = blueprint.len() - 8;
    blueprint[112..120].copy_from_slice(&generation.to_le_bytes());
    let checksum = xxhash_rust::xxh3::xxh3_64(&blueprint[..content]);
    blueprint[content..].copy_from_slice(&checksum.to_le_bytes());
    Filter::from_blueprint(&blueprint).unwrap()
}

/// Stamps have 15 bits in rows, 8 in lines, and 255 values in spares; generations have 64 bits everywhere else.
#[test]
fn generations_past_the_wrap_of_every_stamp_and_past_32_bits_lose_nothing() {
    for shape in shapes() {
        let builder = with_shape(&shape).window(3 * u64::from(shape.window_generations));
        for wrap in [1 << 8, 255 * 7, 1 << 15, 1 << 16, 1 << 32, 1 << 40] {
            let segments = u64::from(shape.segments());
            let mut filter = at_generation(&builder, wrap - segments);
            let inserts = 3 * segments * filter.plan().items_per_generation;
            for number in 0..inserts {
                filter.insert(item(number));
                let oldest = (number + 1).saturating_sub(filter.guaranteed_window());
                for kept in [oldest, u64::midpoint(oldest, number), number] {
                    assert!(filter.contains(item(kept)), "{shape}, {kept} after {number}, beyond {wrap}");
                }
            }
            assert!(filter.counters().generation > wrap, "the wrap was passed");
            let restored = Filter::from_bytes(&filter.to_bytes()).unwrap();
            assert!(restored == filter);
        }
    }
}

#[test]
fn clocks_from_1970_to_the_year_10000_that_stall_jump_and_go_back_lose_nothing() {
    const YEAR_10000_MS: u64 = 253_402_300_800_000;
    for shape in shapes() {
        for span_ms in [1_000_u64, 3_600_000, 86_400_000 * 365] {
            let window = with_shape(&shape).time_window(Duration::from_millis(span_ms)).capacity(200);
            let mut filter = window.build().unwrap();
            let mut generations = Generations::new(filter.window(), &shape);
            let mut exact = ExactWindow::default();
            let mut random = Random(span_ms + u64::from(shape.segments()));
            let mut now_ms = 0;
            let mut steps = 0;
            while now_ms < YEAR_10000_MS {
                steps += 1;
                let most = 1 << random.below(47);
                match random.below(8) {
                    0..=3 => {}                                                        // it stalls
                    4 | 5 => now_ms += random.below(span_ms / 3 + 1),                  // it goes on
                    6 => now_ms += random.below(most),                                 // it jumps
                    _ => filter.advance_to(now_ms.saturating_sub(random.below(most))), // back
                }
                if steps > 2_000 {
                    now_ms += YEAR_10000_MS / 50;
                }
                filter.advance_to(now_ms);
                generations.advance_to(now_ms);
                let number = random.below(300);
                filter.insert(item(number));
                exact.insert(number, now_ms);
                generations.insert(number);
                if steps % 4 == 0 {
                    let promised = exact.since((now_ms + 1).saturating_sub(span_ms));
                    for number in promised.chain(generations.kept()) {
                        assert!(
                            filter.contains(item(number)),
                            "{shape}, {span_ms} ms: {number} is lost at {now_ms}"
                        );
                    }
                }
            }
            assert!(steps > 100 && filter.latest_ms() == Some(now_ms));
        }
    }
}

/// `SECONDS=600 cargo test -p lately --release --test long_runs -- --ignored --nocapture`: all layouts, in turn, until the
/// time is over. Every insert is probed once while it is in the window.
#[test]
#[ignore = "slow: ./test --full"]
fn no_insert_of_billions_is_missed() {
    const BATCH: u64 = 4096;
    let seconds =
        std::env::var("SECONDS").map_or(20, |seconds| seconds.parse().expect("SECONDS is a number"));
    let hashes = |first: u64| -> Vec<u64> {
        (first..first + BATCH)
            .map(|number| Random(number.wrapping_mul(0xd134_2543_de82_ef95)).next())
            .collect()
    };
    let mut filters: Vec<(String, Filter, u64)> = Layout::ALL
        .iter()
        .map(|layout| {
            let builder = Filter::builder().window(100_000).false_positive_rate(1e-3).layout(*layout);
            (layout.to_string(), builder.build().unwrap(), 0)
        })
        .collect();
    let elastic = Filter::builder().time_window(Duration::from_secs(100)).false_positive_rate(1e-3);
    filters.push(("elastic".to_string(), elastic.build().unwrap(), 0));
    let start = Instant::now();
    let mut seen = vec![false; BATCH as usize];
    while start.elapsed() < Duration::from_secs(seconds) {
        for (name, filter, inserts) in &mut filters {
            for _ in 0..64 {
                // In the elastic window a millisecond passes per insert, so it holds 100 000 too.
                filter.advance_to(*inserts);
                filter.insert_hash_batch(&hashes(*inserts));
                // The oldest batch that is in the window as a whole: 94 208 inserts ago.
                if let Some(old) = inserts.checked_sub(22 * BATCH) {
                    filter.contains_hash_batch(&hashes(old), &mut seen);
                    assert!(
                        seen.iter().all(|seen| *seen),
                        "{name}: an item of {old}.. is missed after {inserts}"
                    );
                }
                *inserts += BATCH;
            }
        }
    }
    let total: u64 = filters.iter().map(|(_, _, inserts)| inserts).sum();
    let each: Vec<_> = filters
        .iter()
        .map(|(name, filter, inserts)| format!("{name} {inserts} ({} shifts)", filter.counters().generation))
        .collect();
    println!("{total} inserts, each probed once, none missed: {}", each.join(", "));
}
