//! The same operations on arrays in memory, with a part in memory, and on scratch.

use std::{
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use outercore_storage::{Block, Disk, HugePages, HugeVec, PAGE, Pod};

use super::*;
use crate::session::Counters;
use outercore_graph::Result;

const BOUNDS: [u64; 6] = [0, 3_000, 3_000, 3_001, 9_000, 12_345];
/// The most items of an interval.
const WIDEST: usize = 5_999;

fn scratch(folder: &Path) -> Scratch {
    Scratch::new(&Disk::new(), folder.into(), Arc::<Counters>::default())
}

/// Arrays with no, two, four and all intervals in memory.
fn arrays<T: Pod + Copy>(scratch: &Scratch) -> Vec<VertexArray<T>> {
    let kept = |count: usize| -> u64 {
        let pairs = BOUNDS.windows(2).take(count);
        pairs.map(|pair| VertexArray::<T>::kept_bytes((pair[1] - pair[0]) as usize)).sum()
    };
    let array = |count| VertexArray::create(scratch, BOUNDS, &mut kept(count)).unwrap();
    [0, 2, 4, 5].map(array).into()
}

/// What every operation says of an array, one after the other.
fn walked(array: VertexArray<u64>) -> Result<Vec<Vec<u64>>> {
    let (mut seen, mut block) = (Vec::new(), Block::new(WIDEST)?);
    array.fill(|vertex| vertex * vertex)?;
    for interval in 0..array.intervals() {
        array.update(interval, &mut block, |items| items.iter_mut().for_each(|item| *item += 7))?;
    }
    array.write(2, &mut block, |items| items.fill(5))?;
    for interval in 0..array.intervals() {
        seen.push(array.read(interval, &mut block, <[u64]>::to_vec)?);
    }
    array.load(3, &mut block)?;
    block.items(array.items(3)).reverse();
    array.store(3, &mut block)?;
    seen.push(array.gather(&[12_000, 3_000, 0, 8_999, 3_001, 12_000])?);
    array.for_each_interval(|first, items| seen.push([&[first], items].concat()))?;
    // What was shown last is not what it was.
    array.write(4, &mut block, |items| items.fill(9))?;
    array.for_each(|vertex, &item| seen.push(vec![vertex, item]))?;
    let mapped = array.map(|&item| item as u32)?;
    mapped.for_each(|vertex, &item| seen.push(vec![vertex, item.into()]))?;
    seen.push(mapped.into_memory()?.iter().map(|&item| item.into()).collect());
    windowed(array, &mut seen)?;
    Ok(seen)
}

/// A window of two intervals, where the array is not in memory.
fn windowed(array: VertexArray<u64>, seen: &mut Vec<Vec<u64>>) -> Result<()> {
    let mut window = Window::of(array, 9_000, HugePages::Off)?;
    for (number, pair) in window.windows.clone().windows(2).enumerate() {
        window.bring(number)?;
        for vertex in pair[0]..pair[1] {
            assert!(window.has(vertex) && window.lower(vertex, 6) == (vertex != 3_000));
            assert_eq!(window.cell(vertex).load(Relaxed), if vertex == 3_000 { 5 } else { 6 });
        }
        assert!(!window.has(pair[1]));
    }
    window.bring(0)?;
    assert_eq!(window.cell(3_000).load(Relaxed), 5);
    window.give_back()?.for_each(|vertex, &item| seen.push(vec![vertex, item]))
}

#[test]
fn wherever_items_are_the_results_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = scratch(folder.path());
    let all = arrays::<u64>(&scratch);
    let resident: Vec<bool> = all.iter().map(|array| array.rest.is_none()).collect();
    let seen: Vec<_> = all.into_iter().map(|array| walked(array).unwrap()).collect();
    assert_eq!(seen[0][0][10], 107);
    assert_eq!(seen[0][4][0], 9_000 * 9_000 + 7);
    assert!(seen.iter().all(|one| *one == seen[0]));
    assert_eq!(resident, [false, false, false, true]);
}

#[test]
fn appended_items_come_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = scratch(folder.path());
    let rooms = [0, 300_000, u64::MAX];
    for (count, room) in [0, 1, 65_536, 150_001].iter().flat_map(|&n| rooms.map(|room| (n, room))) {
        let mut appender = Appender::<u32>::new(&scratch, count, room).unwrap();
        for times in 1..3 {
            (0..count).for_each(|vertex| appender.push((vertex * times) as u32).unwrap());
            let mut next = 0;
            let check = |first: u64, items: &[u32]| {
                assert_eq!(first, next);
                assert!(items.iter().zip(next..).all(|(&item, at)| u64::from(item) == at * times));
                next += items.len() as u64;
            };
            if times == 1 {
                appender.drain(check).unwrap();
                assert_eq!(next, count);
            }
        }
        let array = appender.array;
        array.for_each(|vertex, &item| assert_eq!(u64::from(item), vertex * 2)).unwrap();
        assert_eq!(array.len() as u64, count);
    }
}

#[test]
fn what_was_shown_whole_stays() {
    let array =
        VertexArray::from(outercore_storage::HugeVec::<u32>::zeroed(5, HugePages::Off).unwrap());
    let mut block = Block::new(5).unwrap();
    array.write(0, &mut block, |items| items.fill(3)).unwrap();
    assert_eq!(array.resident(), Some(&[3; 5][..]));
    let change = std::panic::AssertUnwindSafe(|| array.fill(|_| 4));
    assert!(std::panic::catch_unwind(change).is_err());
    assert_eq!(array.resident(), Some(&[3; 5][..]));
}

#[test]
fn workers_change_intervals_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = scratch(folder.path());
    for array in arrays::<u64>(&scratch) {
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let array = &array;
                scope.spawn(move || {
                    let mut block = Block::new(WIDEST).unwrap();
                    for interval in (0..array.intervals()).filter(|interval| interval % 3 == worker)
                    {
                        let first = array.bounds()[interval];
                        let make = |items: &mut [u64]| {
                            items.iter_mut().zip(first..).for_each(|(item, at)| *item = at)
                        };
                        array.write(interval, &mut block, make).unwrap();
                    }
                });
            }
        });
        array.for_each(|vertex, &item| assert_eq!(item, vertex)).unwrap();
    }
}

#[test]
fn reads_of_results_are_counted_in_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = scratch(folder.path());
    let array = VertexArray::<u64>::create(&scratch, [0, 512, 1_024], &mut 0).unwrap();
    array.fill(|vertex| vertex).unwrap();
    let (counters, disk) = (&scratch.counters, scratch.disk.counters());
    assert_eq!(disk.bytes_written.load(Relaxed), 8_192);
    array.for_each(|_, _| ()).unwrap();
    assert_eq!(counters.useful_bytes.load(Relaxed), 8_192);
    array.map(|&item| item as u32).unwrap();
    assert_eq!(disk.bytes_read.load(Relaxed), 2 * 8_192);
    assert_eq!(disk.bytes_written.load(Relaxed), 8_192 + 2 * 4_096);
    array.gather(&[1_000, 600, 3]).unwrap();
    assert_eq!(counters.useful_bytes.load(Relaxed), 6 * 4_096);
}

/// Writes other bytes than those that the checksums know.
fn damage(array: &VertexArray<u64>, at: u64) {
    let mut page = HugeVec::zeroed(PAGE, HugePages::Off).unwrap();
    page.fill(0xa5u8);
    array.rest.as_ref().unwrap().file.file.write_at(&page, at).unwrap();
}

#[test]
fn damaged_scratch_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = scratch(folder.path());
    let array = VertexArray::<u64>::create(&scratch, [0, 512, 1_024], &mut 0).unwrap();
    array.fill(|vertex| vertex).unwrap();
    damage(&array, PAGE as u64);
    let mut block = Block::new(512).unwrap();
    assert_eq!(array.read(0, &mut block, |items| items[511]).unwrap(), 511);
    let said = |result: Result<()>| result.unwrap_err().to_string();
    let why = "other than it was written";
    assert!(said(array.read(1, &mut block, |_| ())).contains(why));
    assert!(said(array.update(1, &mut block, |_| ())).contains(why));
    assert!(said(array.load(1, &mut block)).contains(why));
    assert!(said(array.for_each(|_, _| ())).contains(why));
    assert!(said(array.gather(&[2, 600]).map(drop)).contains(why));
    assert!(said(array.map(|&item| item).map(drop)).contains(why));
    assert!(said(array.into_memory().map(drop)).contains(why));
}
