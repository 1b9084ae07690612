//! What reading looked like from outside: requests in flight and bytes that arrived, over time.
//! Each reader has a [`Meter`] of its own; a report adds them up.

use std::time::Instant;

use serde::Serialize;

/// Most buckets of a timeline.
const BUCKETS: usize = 64;

/// Seconds of a bucket at first; doubled whenever a run outlasts the buckets.
const FIRST_WIDTH: f64 = 1.0 / 256.0;

/// Bytes that arrived in each stretch of time.
#[derive(Clone, Debug)]
struct Timeline {
    /// Seconds of a bucket.
    width: f64,
    /// Bytes in each, from the beginning of the run.
    bytes: Vec<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { width: FIRST_WIDTH, bytes: Vec::new() }
    }
}

impl Timeline {
    fn add(&mut self, seconds: f64, bytes: u64) {
        while seconds >= self.width * BUCKETS as f64 {
            self.fold();
        }
        let bucket = (seconds / self.width) as usize;
        if self.bytes.len() <= bucket {
            self.bytes.resize(bucket + 1, 0);
        }
        self.bytes[bucket] += bytes;
    }

    fn fold(&mut self) {
        self.bytes = self.bytes.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.width *= 2.0;
    }

    /// Adds another reader's.
    fn merge(&mut self, other: &Timeline) {
        let mut other = other.clone();
        while other.width < self.width {
            other.fold();
        }
        while self.width < other.width {
            self.fold();
        }
        self.bytes.resize(self.bytes.len().max(other.bytes.len()), 0);
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(sum, bytes)| *sum += bytes);
    }
}

/// A reader's requests over time.
#[derive(Clone, Debug)]
pub struct Meter {
    begun: Instant,
    last: Instant,
    depth: usize,
    /// Requests that ended.
    requests: u64,
    /// Requests in flight, integrated over time.
    request_seconds: f64,
    /// Seconds with at least one in flight.
    reading_seconds: f64,
    timeline: Timeline,
}

impl Meter {
    /// A meter of a run that began then.
    pub fn new(begun: Instant) -> Self {
        Self {
            begun,
            last: begun,
            depth: 0,
            requests: 0,
            request_seconds: 0.0,
            reading_seconds: 0.0,
            timeline: Timeline::default(),
        }
    }

    /// So many requests started.
    pub fn started(&mut self, requests: usize) {
        self.tick();
        self.depth += requests;
    }

    /// So many requests ended, and brought so many bytes.
    pub fn ended(&mut self, requests: usize, bytes: u64) {
        if requests > 0 {
            self.tick();
            self.depth = self.depth.saturating_sub(requests);
            self.requests += requests as u64;
            self.timeline.add((self.last - self.begun).as_secs_f64(), bytes);
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        if self.depth > 0 {
            let seconds = (now - self.last).as_secs_f64();
            self.request_seconds += seconds * self.depth as f64;
            self.reading_seconds += seconds;
        }
        self.last = now;
    }

    /// The mean number of requests in flight while there were any.
    pub fn mean_depth(&self) -> f64 {
        if self.reading_seconds > 0.0 { self.request_seconds / self.reading_seconds } else { 0.0 }
    }
}

/// Bytes that arrived in each stretch of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Seconds of a stretch.
    pub bucket_seconds: f64,
    /// Bytes of each, divided by its seconds; at most 64.
    pub bytes_per_second: Vec<f64>,
}

/// What the readers of a run did, all together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Mean bytes of a request for edges: what opens the graph, and vertex arrays, are not in it.
    pub mean_request_bytes: f64,
    /// Mean requests in flight while there were any, of all of them together.
    pub mean_queue_depth: f64,
    /// Bytes that arrived, over time.
    pub throughput: Throughput,
}

impl Reading {
    /// That of readers with these meters.
    pub fn of(meters: impl IntoIterator<Item = Meter>) -> Self {
        let (mut requests, mut depth, mut timeline) = (0, 0.0, Timeline::default());
        for meter in meters {
            requests += meter.requests;
            depth += meter.mean_depth();
            timeline.merge(&meter.timeline);
        }
        let rate = |&bytes: &u64| (bytes as f64 / timeline.width).round();
        Self {
            mean_request_bytes: timeline.bytes.iter().sum::<u64>() as f64 / requests.max(1) as f64,
            mean_queue_depth: depth,
            throughput: Throughput {
                bucket_seconds: timeline.width,
                bytes_per_second: timeline.bytes.iter().map(rate).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_never_outgrows_its_buckets_and_loses_nothing() {
        let mut line = Timeline::default();
        for step in 0..1000 {
            line.add(f64::from(step) * 0.01, 1);
        }
        assert!(line.bytes.len() <= BUCKETS, "{}", line.bytes.len());
        assert_eq!(line.bytes.iter().sum::<u64>(), 1000);
        let mut short = Timeline::default();
        short.add(0.0, 5);
        short.merge(&line);
        assert_eq!((short.bytes.iter().sum::<u64>(), short.width), (1005, line.width));
        line.merge(&Timeline { width: FIRST_WIDTH, bytes: vec![1; 64] });
        assert_eq!(line.bytes.iter().sum::<u64>(), 1064);
    }

    #[test]
    fn depth_is_a_mean_over_the_time_of_reading() {
        let mut meter = Meter::new(Instant::now());
        assert_eq!(meter.mean_depth(), 0.0);
        meter.started(4);
        std::thread::sleep(std::time::Duration::from_millis(5));
        meter.ended(4, 4096);
        std::thread::sleep(std::time::Duration::from_millis(5));
        meter.started(1);
        meter.ended(1, 4096);
        assert!(meter.mean_depth() > 3.0 && meter.mean_depth() <= 4.0, "{}", meter.mean_depth());
        let both = Reading::of([meter.clone(), Meter::new(Instant::now())]);
        assert_eq!(
            (both.mean_request_bytes, both.mean_queue_depth),
            (8192.0 / 5.0, meter.mean_depth())
        );
        let Throughput { bucket_seconds, bytes_per_second } = both.throughput;
        assert_eq!((bytes_per_second.iter().sum::<f64>() * bucket_seconds).round(), 8192.0);
    }
}
