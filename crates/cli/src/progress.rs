//! How far a command is: bars with the time left on a terminal, or one JSON event a line, on
//! standard error.

use std::{
    io::{IsTerminal, Write},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use outercore::{BuildProgress, IterationReport, RunProgress, human_bytes};
use serde_json::json;

use crate::{output, signals};

/// What `--progress` can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Bars if standard error is a terminal.
    Auto,
    /// Nothing.
    None,
    /// Events as lines of JSON on standard error.
    Json,
}

/// Time between two events of the same stage.
const PAUSE_MS: u64 = 250;

/// Shows progress, and passes on the user's wish to stop.
pub struct Meter {
    mode: Mode,
    begin: Instant,
    bar: Mutex<Option<ProgressBar>>,
    done: AtomicU64,
    /// Milliseconds after `begin` of the last event.
    told: AtomicU64,
    /// Iterations that there will be, if known.
    iterations: Option<u64>,
}

impl Meter {
    /// A meter; bars only where somebody sees them.
    pub fn new(mode: Mode) -> Self {
        let mode =
            if mode == Mode::Auto && !std::io::stderr().is_terminal() { Mode::None } else { mode };
        Self {
            mode,
            begin: Instant::now(),
            bar: Mutex::default(),
            done: AtomicU64::new(0),
            told: AtomicU64::new(0),
            iterations: None,
        }
    }

    /// A meter of a run, which perhaps has a known number of iterations.
    pub fn of_run(mode: Mode, iterations: Option<u64>) -> Self {
        let mut meter = Self::new(mode);
        meter.iterations = iterations;
        meter.start("running", iterations);
        meter
    }

    /// Begins a stage.
    pub fn start(&self, name: &'static str, total: Option<u64>) {
        self.done.store(0, Relaxed);
        match self.mode {
            Mode::None => {}
            Mode::Json => self.event(json!({"event": "stage", "name": name, "total": total})),
            Mode::Auto => {
                let bar = match total {
                    Some(total) => ProgressBar::new(total).with_style(style(
                        "{msg:<24} [{bar:30}] {percent:>3} %  {elapsed} so far, {eta} left",
                    )),
                    None => {
                        ProgressBar::new_spinner().with_style(style("{spinner} {msg} ({elapsed})"))
                    }
                };
                bar.set_message(name);
                bar.enable_steady_tick(Duration::from_millis(200));
                self.replace(Some(bar));
            }
        }
    }

    /// Work was done in this stage.
    pub fn add(&self, amount: u64) {
        let done = self.done.fetch_add(amount, Relaxed) + amount;
        match self.mode {
            Mode::None => {}
            Mode::Json => {
                let now = self.begin.elapsed().as_millis() as u64;
                let told = self.told.load(Relaxed);
                let first = now >= told + PAUSE_MS
                    && self.told.compare_exchange(told, now, Relaxed, Relaxed).is_ok();
                if first {
                    self.event(json!({"event": "progress", "done": done}));
                }
            }
            Mode::Auto => {
                if let Some(bar) =
                    &*self.bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
                {
                    bar.set_position(done);
                }
            }
        }
    }

    /// Clears the bar, so that the result has the terminal to itself.
    pub fn finish(&self) {
        self.replace(None);
    }

    fn replace(&self, bar: Option<ProgressBar>) {
        let mut current = self.bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(old) = std::mem::replace(&mut *current, bar) {
            old.finish_and_clear();
        }
    }

    fn event(&self, mut event: serde_json::Value) {
        event["seconds"] = json!(self.begin.elapsed().as_secs_f64());
        // A closed standard error is no reason to end a run.
        let _ = writeln!(std::io::stderr(), "{event}");
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.finish();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the templates are constants")
        .progress_chars("=> ")
}

impl BuildProgress for Meter {
    fn stage(&self, name: &'static str, total: Option<u64>) {
        self.start(name, total);
    }

    fn advance(&self, amount: u64) {
        self.add(amount);
    }

    fn cancelled(&self) -> bool {
        signals::stopped()
    }
}

impl RunProgress for Meter {
    fn iteration(&self, report: &IterationReport) {
        match self.mode {
            Mode::None => {}
            Mode::Json => {
                let mut event = json!(report);
                event["event"] = json!("iteration");
                self.event(event);
            }
            Mode::Auto => {
                let current = self.bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if let Some(bar) = &*current {
                    let (active, read) =
                        (output::grouped(report.active), human_bytes(report.bytes_read));
                    let text = format!(
                        "iteration {}: {active} active, {} ({read}), {:.2} s",
                        report.iteration, report.read_mode, report.seconds
                    );
                    bar.set_message(text);
                    if self.iterations.is_some() {
                        bar.inc(1);
                    }
                }
            }
        }
    }

    fn cancelled(&self) -> bool {
        signals::stopped()
    }
}
