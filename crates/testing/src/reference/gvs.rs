/// What a selection is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Gvs {
    /// Bytes of a neighbor.
    pub width: u64,
    /// Bytes of a page.
    pub page: u64,
    /// Bytes of all lists that are chosen.
    pub room: u64,
    /// Rounds.
    pub rounds: u64,
}

/// Greedy vertex selection (Lee et al., ATC'19, Algorithm 1) by the text: the highest penalty for
/// each entry of the own list first. Everything is computed anew in each round. Of the listing's
/// three factors the one that depends on the page is a whole number of 2^-31.
pub fn gvs(lists: &[Vec<usize>], asked: Gvs) -> Vec<usize> {
    let degree = |vertex: usize| lists[vertex].len() as u64;
    let begin = |vertex: usize| (0..vertex).map(degree).sum::<u64>() * asked.width / asked.page;
    let pages: Vec<u64> = (0..lists.len()).map(begin).collect();
    let arriving = |vertex| lists.iter().flatten().filter(|&&to| to == vertex).count();
    let arriving: Vec<usize> = (0..lists.len()).map(arriving).collect();
    let mates = |vertex: usize| {
        let is_mate = |&other: &usize| pages[other] == pages[vertex] && degree(other) > 0;
        (0..lists.len()).filter(is_mate).count()
    };
    let (mut chosen, mut used) = (Vec::new(), 0);
    for round in 1..=asked.rounds {
        let mut sums = vec![0u64; lists.len()];
        let is_free = |vertex: &usize| !chosen.contains(vertex) && degree(*vertex) > 0;
        for list in lists {
            for to in list.iter().copied().filter(is_free) {
                let near = list.iter().filter(|&other| pages[*other] == pages[to]);
                sums[to] += (1 << 31) / near.copied().filter(is_free).map(degree).sum::<u64>();
            }
        }
        let score = |vertex: usize| {
            let by = mates(vertex) as u64 * arriving[vertex].max(1) as u64 * degree(vertex);
            sums[vertex] as f64 / by as f64
        };
        let mut order: Vec<usize> = (0..lists.len()).filter(is_free).collect();
        order.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        for vertex in order {
            let bytes = degree(vertex) * asked.width;
            if used + bytes <= asked.room * round / asked.rounds {
                chosen.push(vertex);
                used += bytes;
            } else if round < asked.rounds {
                break;
            }
        }
    }
    chosen
}

/// The same by a search from `source` that no page cache serves: each level reads each page for the
/// lists in it that were not chosen. A vertex has its part of each such reading, for each byte. A
/// reading is worth half as much again if the level reads no page beside it, and half as much if
/// it reads both; those that are one list's alone are worth as they are. Equal scores go by the
/// smaller vertex.
pub fn gvs_by_levels(lists: &[Vec<usize>], source: usize, asked: Gvs) -> Vec<usize> {
    let bytes = |vertex: usize| lists[vertex].len() as u64 * asked.width;
    let start = |vertex: usize| (0..vertex).map(bytes).sum::<u64>();
    let levels = levels(lists, source);
    let portion = |vertex: usize, page: u64| {
        let (start, page) = (start(vertex), page * asked.page);
        (start + bytes(vertex)).min(page + asked.page).saturating_sub(start.max(page))
    };
    let is_read = |level: usize, page: u64| {
        (0..lists.len()).any(|vertex| levels[vertex] == level && portion(vertex, page) > 0)
    };
    let worth = |level: usize, page: u64| {
        let beside = [page.checked_sub(1), Some(page + 1)].into_iter().flatten();
        1.5 - 0.5 * beside.filter(|&page| is_read(level, page)).count() as f64
    };
    let (mut chosen, mut used) = (Vec::new(), 0);
    for round in 1..=asked.rounds {
        let before = chosen.clone();
        let reading = |level: usize, page: u64| -> u64 {
            let wanted = |&vertex: &usize| levels[vertex] == level && !before.contains(&vertex);
            (0..lists.len()).filter(wanted).map(|vertex| portion(vertex, page)).sum()
        };
        let score = |vertex: usize| {
            let pages =
                start(vertex) / asked.page..=(start(vertex) + bytes(vertex) - 1) / asked.page;
            let (first, last) = (*pages.start(), *pages.end());
            let part = |page| {
                let (level, portion) = (levels[vertex], portion(vertex, page));
                let is_shared = page == first || page == last;
                let worth = if is_shared { worth(level, page) } else { 1.0 };
                worth * portion as f64 / reading(level, page) as f64
            };
            let parts: f64 = if levels[vertex] == usize::MAX { 0.0 } else { pages.map(part).sum() };
            (parts + 1e-9) / bytes(vertex) as f64
        };
        let is_free = |vertex: &usize| !chosen.contains(vertex) && bytes(*vertex) > 0;
        let mut free: Vec<_> =
            (0..lists.len()).filter(is_free).map(|vertex| (score(vertex), vertex)).collect();
        free.sort_by(|one, next| next.0.total_cmp(&one.0).then(one.1.cmp(&next.1)));
        for (_, vertex) in free {
            if used + bytes(vertex) <= asked.room * round / asked.rounds {
                chosen.push(vertex);
                used += bytes(vertex);
            } else if round < asked.rounds {
                break;
            }
        }
    }
    chosen
}

/// How far each vertex is from `source`.
fn levels(lists: &[Vec<usize>], source: usize) -> Vec<usize> {
    let mut levels = vec![usize::MAX; lists.len()];
    let mut reached = std::collections::VecDeque::from([source]);
    levels[source] = 0;
    while let Some(vertex) = reached.pop_front() {
        for &to in &lists[vertex] {
            if levels[to] == usize::MAX {
                levels[to] = levels[vertex] + 1;
                reached.push_back(to);
            }
        }
    }
    levels
}
