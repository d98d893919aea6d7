//! Promise 4: a filter takes exactly the memory of its plan, known before construction, and allocates nothing
//! afterwards.

mod common;

use std::time::Duration;

use common::counting_allocator::{CountingAllocator, watch};
use common::{LAYOUTS, item, shapes, with_shape};
use lately::{Filter, Overload};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn a_filter_takes_the_memory_of_its_plan_and_never_grows() {
    for shape in shapes() {
        check(&with_shape(&shape).window(5_000));
        check(&with_shape(&shape).time_window(Duration::from_secs(1)).capacity(5_000));
    }
    for layout in LAYOUTS {
        let promise = Filter::builder().false_positive_rate(1e-3).layout(layout);
        check(&promise.clone().window(20_000));
        check(&promise.clone().time_window(Duration::from_secs(9)).capacity(2_000));
        check(&promise.time_window(Duration::from_secs(9)).capacity(2_000).overload(Overload::KeepRate));
    }
}

fn check(builder: &lately::Builder) {
    let plan = builder.plan().unwrap();
    let (mut filter, built) = watch(|| builder.build().unwrap());
    assert_eq!(built.kept_bytes as u64, plan.memory_bytes, "{plan:?}");
    assert_eq!(filter.statistics().memory_bytes, plan.memory_bytes);
    let mut seen = [false; 16];
    let ((), used) = watch(|| {
        for number in 0..30_000_u64 {
            filter.advance_to(number / 3);
            _ = filter.check_and_insert(item(number));
            filter.check_or_insert(item(number / 2));
            _ = filter.contains(item(number + 1));
            filter.check_and_insert_batch(&[item(number); 16], &mut seen);
            std::hint::black_box(filter.age_of(item(number)));
        }
        filter.advance_to(u64::MAX);
        filter.clear();
    });
    assert_eq!(used.calls, 0, "{plan:?}: {used:?}");
}

/// The memory of an elastic window follows the traffic, and the filter tells it at every moment.
#[test]
fn an_elastic_window_takes_the_memory_that_it_tells() {
    let builder = Filter::builder().time_window(Duration::from_secs(9)).false_positive_rate(1e-3);
    let (mut filter, built) = watch(|| builder.max_memory(3_000_000).build().unwrap());
    assert_eq!(built.kept_bytes as u64, filter.memory_bytes());
    let (mut growths, mut shrinks) = (0, 0);
    for second in 0..90 {
        let before = filter.memory_bytes();
        let items = if second < 20 { second * 5_000 } else { 10 };
        let ((), used) = watch(|| {
            filter.advance_to(second * 1_000);
            (0..items).for_each(|number| filter.insert(item(second << 32 | number)));
        });
        assert_eq!(
            before.checked_add_signed(used.kept_bytes as i64),
            Some(filter.memory_bytes()),
            "at {second} s"
        );
        growths += u32::from(filter.memory_bytes() > before);
        shrinks += u32::from(filter.memory_bytes() < before);
    }
    assert!(growths > 5 && shrinks > 0, "{growths} growths, {shrinks} shrinks");
    let peak = filter.counters().peak_memory_bytes;
    assert!(peak <= filter.plan().memory_bytes && filter.plan().memory_bytes <= 3_000_000, "{peak}");
}
