//! The cells of the table: a switch in a row and a model, and what a run with it must say.

use std::{collections::BTreeMap, sync::Mutex};

use outercore_engine::{
    MemoryModel, RunConfig, RunReport, Technique, TechniqueReport, TechniqueState,
};
use outercore_graph::{Graph, GraphError};

use crate::{
    Asked, Graphs, ROWS, Row, SWITCHES, answer, config, figures, models, of, plan, report,
};

/// What an algorithm does without switches: twice, to know which figures are always the same.
struct Usual {
    first: RunReport,
    stable: BTreeMap<String, String>,
}

impl Usual {
    fn new(graph: &Graph, row: Row, model: MemoryModel) -> Self {
        let ran = || report(graph, row, &config(model, &[]));
        let (first, second) = (ran(), figures(&ran()));
        let stable = figures(&first);
        let stable = stable.into_iter().filter(|(name, value)| second[name] == *value).collect();
        Self { first, stable }
    }

    /// Whether a run with a switch does what that asks for, no longer does what that turns off, or
    /// does anything else than without it.
    fn acts(&self, report: &RunReport, switch: &str, wanted: Option<Technique>) -> bool {
        let used = |report: &TechniqueReport| report.state == TechniqueState::Used;
        let figures = figures(report);
        let turned_off = |was: &TechniqueReport| {
            was.switch == switch && used(was) && !used(of(report, was.name))
        };
        wanted.is_some_and(|wanted| used(of(report, wanted)))
            || self.first.techniques.iter().any(turned_off)
            || self.stable.iter().any(|(name, value)| figures[name] != *value)
    }

    /// Whether the report says that what a switch asks for had nothing to do; or, where it turns
    /// something off, the report of a run without it.
    fn is_idle(&self, report: &RunReport, switch: &str, wanted: Option<Technique>) -> bool {
        let nothing = |report: &TechniqueReport| {
            report.state == TechniqueState::Idle && report.reason.starts_with("no ")
        };
        match wanted {
            Some(wanted) => nothing(of(report, wanted)),
            None => {
                let of_switch = |report: &&TechniqueReport| report.switch == switch;
                let mut own = self.first.techniques.iter().filter(of_switch);
                own.all(|report| report.state != TechniqueState::Used)
            }
        }
    }
}

/// Whether two workers steal from each other with `--stealing on`, and do not with `off`. Nobody
/// has to steal: now and then somebody does.
fn stealing_acts(graph: &Graph, row: Row, model: MemoryModel) -> bool {
    let stolen = |value| {
        let config = RunConfig { threads: 2, ..config(model, &[("stealing", value)]) };
        let report = report(graph, row, &config);
        assert_eq!(report.io.stolen, of(&report, Technique::WorkStealing).effect);
        report.io.stolen
    };
    stolen("off") == 0 && (0..5).any(|_| stolen("on") > 0)
}

/// How many cells of the table act, report that there was nothing to do, and are refused.
#[derive(Default)]
pub struct Cells {
    pub acted: BTreeMap<(&'static str, &'static str), usize>,
    pub idle: Vec<String>,
    pub refused: usize,
    /// How many of these are refused as well where the budget is too small.
    pub first: usize,
}

impl Cells {
    /// Those of all rows. Two workers take the next row each.
    pub fn of(graphs: &Graphs) -> Self {
        let rows = Mutex::new(ROWS.into_iter());
        let worker = || {
            let mut cells = Self::default();
            while let Some(row) = { rows.lock().unwrap().next() } {
                cells.look_at(graphs.of(row), row);
            }
            cells
        };
        let [mut all, other] = std::thread::scope(|scope| {
            [scope.spawn(worker), scope.spawn(worker)].map(|worker| worker.join().unwrap())
        });
        for (asked, count) in other.acted {
            *all.acted.entry(asked).or_default() += count;
        }
        all.idle.extend(other.idle);
        (all.refused, all.first) = (all.refused + other.refused, all.first + other.first);
        all
    }

    fn look_at(&mut self, graph: &Graph, row: Row) {
        for &model in models(row) {
            let usual = Usual::new(graph, row, model);
            SWITCHES.into_iter().for_each(|asked| self.look((graph, row, model), &usual, asked));
        }
    }

    /// What is wrong with a switch is told before a budget, unless it can act in the one named.
    fn told_first(&mut self, graph: &Graph, row: Row, (config, wrong): (&RunConfig, &str)) {
        let little = |memory| plan(graph, row, &RunConfig { memory, ..config.clone() });
        match little(1 << 20) {
            Err(GraphError::Memory { needed, .. }) => drop(little(needed).unwrap()),
            refused => {
                assert!(matches!(refused, Err(GraphError::Usage(error)) if error == wrong));
                self.first += 1;
            }
        }
    }

    /// Looks at a cell: a switch in a row and a model.
    fn look(
        &mut self,
        (graph, row, model): (&Graph, Row, MemoryModel),
        usual: &Usual,
        (switch, value, wanted): Asked,
    ) {
        let what = format!("{row:?} {} --{switch} {value}", model.name());
        let threads = if switch == "stealing" { 2 } else { 1 };
        let config = RunConfig { threads, ..config(model, &[(switch, value)]) };
        match plan(graph, row, &config) {
            Err(GraphError::Usage(error)) => {
                let said = error.contains(&format!("--{switch}")) && error.contains(row.0);
                assert!(said && error.contains("it is for"), "{what}: {error}");
                self.refused += 1;
                self.told_first(graph, row, (&config, &error));
                return;
            }
            plan => drop(plan.unwrap_or_else(|error| panic!("{what}: {error}"))),
        }
        let report = report(graph, row, &config);
        assert_eq!(answer(&report), answer(&usual.first), "{what}");
        for TechniqueReport { name, state, reason, effect, .. } in &report.techniques {
            assert_eq!(*state == TechniqueState::Used, *effect > 0, "{what}: {name}");
            assert!(!reason.is_empty(), "{what}: {name}");
        }
        let mut own = report.techniques.iter().filter(|report| report.switch == switch);
        let is_for = own.any(|report| report.state != TechniqueState::NotApplicable);
        assert!(is_for, "{what}: taken, and not applicable");
        let acts = match switch {
            "stealing" => stealing_acts(graph, row, model),
            _ => usual.acts(&report, switch, wanted),
        };
        if acts {
            *self.acted.entry((switch, value)).or_default() += 1;
        } else {
            assert!(usual.is_idle(&report, switch, wanted), "{what} is silent");
            self.idle.push(what);
        }
    }
}
