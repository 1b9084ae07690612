//! Reads the lists of a share of the vertices, chosen at random, and prints what that asked of the
//! device, as JSON: what `make bench-graphene` compares with the device's limits.
//! `random_lists GRAPH SHARE [block=512] [max_gap=0] [io_scheduling=pluglist] [stealing=off]
//! [threads=1] [slices=128]`:
//! with so many slices, of equal cost, only every second one has active vertices. 64 for each
//! worker are the ranges that one of two workers has to do with, all of them.

use std::{error::Error, sync::atomic::Ordering::Relaxed, time::Instant};

use outercore_engine::{
    IoScheduling, Job, Lists, MemoryModel, Planner, Resource, RunConfig, Silent,
};
use outercore_graph::{Direction, Graph};
use outercore_storage::Disk;

/// 64 vertices as bits, each there with the given probability; the same for the same group.
fn some(group: u64, share: f64) -> u64 {
    let mut state = group.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..64).fold(0, |bits, bit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bits | u64::from((state >> 11) as f64 / (1u64 << 53) as f64 <= share) << bit
    })
}

/// What the settings ask for, and how many slices.
fn configured(settings: &[String]) -> Result<(RunConfig, u64), Box<dyn Error>> {
    let model = Some(MemoryModel::SemiExternal);
    let mut config = RunConfig { model, ..RunConfig::default() };
    let mut slices = 0;
    for setting in settings {
        match setting.split_once('=').ok_or("a setting is NAME=VALUE")? {
            ("block", value) => config.block = value.parse()?,
            ("max_gap", value) => config.max_gap = Some(value.parse()?),
            ("threads", value) => config.threads = value.parse()?,
            ("slices", value) => slices = value.parse()?,
            ("stealing", "off") => config.stealing = false,
            ("io_scheduling", "pluglist") => config.io_scheduling = IoScheduling::Pluglist,
            (name, value) => return Err(format!("unknown setting {name}={value}").into()),
        }
    }
    Ok((config, slices))
}

/// About what the lists of the groups before each cost, and in the end all.
fn costs(vertices: u64, degree: impl Fn(u64) -> u64) -> Vec<u64> {
    let mut costs = vec![0];
    for first in (0..vertices).step_by(64) {
        let group = first..(first + 64).min(vertices);
        let edges: u64 = group.map(&degree).sum();
        costs.push(costs[costs.len() - 1] + edges + 1024);
    }
    costs
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, share, settings @ ..] = &arguments[..] else {
        return Err("random_lists GRAPH SHARE [SETTING=VALUE ...]".into());
    };
    let (share, (config, slices)) = (share.parse()?, configured(settings)?);
    let graph = Graph::open(&Disk::new(), path.as_ref())?;
    let mut planner = Planner::new("random lists", Job::new(&graph, &config, &Silent));
    let mut lists = Lists::along(&[Direction::Out]);
    lists.cached = false;
    let (lists, session) = (planner.declare(lists)?, planner.decide()?.start()?);
    let opened = lists.open(&session)?;
    let lists = opened.all(&session);
    let last = graph.connected() % 64;
    let costs = costs(graph.connected(), |vertex| lists.degree(vertex));
    let all = costs[costs.len() - 1].max(1);
    let is_active = |group: u64| {
        if slices > 0 && costs[group as usize] * slices / all % 2 == 1 {
            return 0;
        }
        let whole = last == 0 || group != graph.connected() / 64;
        some(group, share) & if whole { u64::MAX } else { (1 << last) - 1 }
    };
    let (disk, counters) = (graph.disk().counters(), &session.counters);
    let count = || {
        [&disk.bytes_read, &counters.useful_bytes, &disk.read_requests]
            .map(|counter| counter.load(Relaxed))
    };
    let io = || session.results(1).outcome().report.io;
    let busy = io().worker_busy_seconds;
    let (before, begun) = (count(), Instant::now());
    let sums = lists.for_each(
        u64::MAX,
        is_active,
        |_| 0,
        |sum, _, list| *sum += list.neighbors().sum::<u64>(),
    )?;
    let (seconds, after) = (begun.elapsed().as_secs_f64(), count());
    let [bytes, useful, requests] = [0, 1, 2].map(|at| after[at] - before[at]);
    let io = io();
    let pairs = io.worker_busy_seconds.iter().zip(busy);
    let busy: Vec<f64> = pairs.map(|(after, before)| after - before).collect();
    let report = serde_json::json!({
        "seconds": seconds, "bytes": bytes, "useful": useful, "requests": requests, "busy": busy,
        "sum": sums.iter().map(|&sum| u128::from(sum)).sum::<u128>() as u64,
        "io": io,
    });
    println!("{report}");
    Ok(())
}
