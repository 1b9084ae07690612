//! What a look at a few pages of a graph tells of all of it.

use outercore_storage::{Leads, Widths};

use crate::{
    error::Result,
    format::INDEX_GROUP,
    graph::{Graph, numbers},
    types::Direction,
};

/// Degrees on a page.
const ON_PAGE: u64 = outercore_storage::PAGE as u64 / 4;
/// How many places of lists are looked at.
const LOOKS: u64 = 48;
/// Bytes of the weights that are looked at.
const WEIGHTS: u64 = 1 << 16;

impl Graph {
    /// How many vertices at the front may have `degree` edges or more, both directions together,
    /// where the order by degree tells; `None`: it does not. The graph is asked once.
    pub fn front(&self, degree: u64) -> Result<Option<u64>> {
        if !self.manifest().order.is_by_degree() {
            return Ok(None);
        }
        let names = [Direction::Out, Direction::In]
            .map(|direction| self.rows(direction).map(|rows| format!("{}.degrees", rows.name())));
        let [Some(first), Some(second)] = names else { return Ok(None) };
        self.known_front(degree, || self.find_front(degree, &first, &second)).map(Some)
    }

    /// Searches the degrees of both directions for the end of that front.
    fn find_front(&self, degree: u64, first: &str, second: &str) -> Result<u64> {
        let mut tables = vec![self.table(first)?];
        if first != second {
            tables.push(self.table(second)?);
        }
        let (mut low, mut high) = (0, self.connected());
        // A look at a page tells of all that are on it.
        while low < high {
            let page = low.midpoint(high) / ON_PAGE * ON_PAGE;
            let (first, end) = (page.max(low), (page + ON_PAGE).min(high));
            let mut totals = vec![0; (end - first) as usize];
            for table in &tables {
                let degrees = table.read(first * 4, totals.len() * 4)?;
                totals.iter_mut().zip(numbers(&degrees, 4)).for_each(|(total, own)| *total += own);
            }
            let at = first + totals.partition_point(|&total| total >= degree) as u64;
            if at > first {
                low = at;
            }
            if at < end {
                high = at;
            }
        }
        Ok(low)
    }

    /// How wide the counts of the connected vertices are that fit a byte where a vertex has at most
    /// `edges` edges.
    pub fn widths(&self, edges: u64) -> Result<Widths> {
        let vertices = self.connected();
        Ok(Widths::new(self.front(edges + 1)?.unwrap_or(vertices), vertices))
    }

    /// The mean of the first weights of the rows: they belong to the hubs, and stand for all.
    pub fn mean_weight(&self) -> Result<f64> {
        let weights = self.some_weights()?;
        Ok(weights.iter().sum::<f64>() / weights.len().max(1) as f64)
    }

    /// The weight that one of so many of these is not above.
    pub fn light_weight(&self, one_of: f64) -> Result<f64> {
        let mut weights = self.some_weights()?;
        let at = (weights.len() as f64 / one_of.max(1.0)) as usize;
        let Some(last) = weights.len().checked_sub(1) else { return Ok(0.0) };
        Ok(*weights.select_nth_unstable_by(at.min(last), f64::total_cmp).1)
    }

    /// Where edges of the lists `lists` lead, as far as a look at some pages tells: to vertices
    /// before `front`, and elsewhere in the interval of their source; intervals have these bounds.
    pub fn leads(&self, lists: &str, front: u64, bounds: &[u64]) -> Result<Leads> {
        let index = self.table(&format!("{lists}.index"))?;
        let adjacency = self.table(&format!("{lists}.adjacency"))?;
        let width = self.manifest().neighbor_bytes as usize;
        let edges = adjacency.section.bytes / width as u64;
        let at_once = (outercore_storage::PAGE / width) as u64;
        let (step, mut all) = ((edges / LOOKS).max(1), 0);
        let (mut of_front, mut at_home) = ([0; 65], 0);
        for first in (0..edges).step_by(step as usize) {
            // The group that the edge is in: the index has a number for each, and one more.
            let (mut low, mut high) = (0, index.section.bytes / 8 - 1);
            while high - low > 1 {
                let group = low.midpoint(high);
                let begins = numbers(&index.read(group * 8, 8)?, 8)[0];
                *(if begins <= first { &mut low } else { &mut high }) = group;
            }
            let source = low * INDEX_GROUP;
            let interval = bounds.partition_point(|&bound| bound <= source).max(1);
            let home = bounds[interval - 1]..bounds.get(interval).copied().unwrap_or(u64::MAX);
            let count = at_once.min(edges - first) as usize * width;
            let targets = numbers(&adjacency.read(first * width as u64, count)?, width);
            all += targets.len();
            for target in targets {
                if target < front {
                    of_front[(u64::BITS - target.leading_zeros()) as usize] += 1;
                } else {
                    at_home += usize::from(home.contains(&target));
                }
            }
        }
        let share = |count: usize| count as f64 / all.max(1) as f64;
        Ok(Leads { front: of_front.map(share), home: share(at_home) })
    }

    /// How many edges these lists have.
    pub fn edges_in(&self, lists: &str) -> u64 {
        let adjacency = self.manifest().section(&format!("{lists}.adjacency"));
        adjacency.map_or(0, |section| section.bytes / u64::from(self.manifest().neighbor_bytes))
    }

    fn some_weights(&self) -> Result<Vec<f64>> {
        let weights = self.table("out.weights")?;
        let width = self.manifest().weight_bytes as usize;
        let len = weights.section.bytes.min(WEIGHTS) as usize / width * width;
        let weights = numbers(&weights.read(0, len)?, width);
        Ok(weights.iter().map(|&weight| self.weights().value(weight)).collect())
    }
}
