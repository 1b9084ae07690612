/// What a selection is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Gvs {
    /// Bytes of a neighbor.
    pub width: u64,
    /// Bytes of a page.
    pub page: u64,
    /// Packed bytes of all lists that are chosen.
    pub room: u64,
    /// Rounds.
    pub rounds: u64,
}

/// Bytes that a list takes in a static cache. Gaps, the first one from the list's own vertex and
/// its sign last, are cut into groups of bits with one more each; how many bits is said in 4, and
/// is what is shortest. Or it is as on disk, behind a byte. From 16 neighbors on its length stands
/// in front, 7 bits a byte.
pub fn packed_bytes(vertex: usize, list: &[usize], width: u64) -> u64 {
    let Some(&first) = list.first() else { return 0 };
    let away = first.abs_diff(vertex) as u64;
    let near = if first < vertex { 2 * away - 1 } else { 2 * away };
    let gaps = list.windows(2).map(|pair| (pair[1] - pair[0]) as u64).chain([near]);
    let of = |bits: u32, gap: u64| (1..).find(|&groups| gap >> (bits * groups) == 0).unwrap();
    let coded =
        |bits: u32| 4 + gaps.clone().map(|gap| u64::from(of(bits, gap) * (bits + 1))).sum::<u64>();
    let lengths = (1..=10).chain([12, 14, 16, 18, 20]);
    let coded = lengths.map(|bits| coded(bits).div_ceil(8)).min().unwrap();
    let size = coded.min(1 + list.len() as u64 * width);
    size + if list.len() < 16 { 0 } else { u64::from(of(7, size)) }
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
    let mut chosen = Vec::new();
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
        take(order, &all_packed(lists, asked), (asked, round), &mut chosen);
    }
    chosen
}

fn all_packed(lists: &[Vec<usize>], asked: Gvs) -> Vec<u64> {
    lists.iter().enumerate().map(|(at, list)| packed_bytes(at, list, asked.width)).collect()
}

/// Chooses of vertices in this order what fits into the room of a round and those before it.
fn take(order: Vec<usize>, packed: &[u64], (asked, round): (Gvs, u64), chosen: &mut Vec<usize>) {
    for vertex in order {
        let used: u64 = chosen.iter().map(|&vertex| packed[vertex]).sum();
        if used + packed[vertex] <= asked.room * round / asked.rounds {
            chosen.push(vertex);
        } else if round < asked.rounds {
            break;
        }
    }
}

/// The same by a search from `source` that no page cache serves: each level reads each page for the
/// lists in it that were not chosen. A vertex has its part of each such reading, for each packed
/// byte. A reading is worth half as much again if the level reads no page beside it, and half as
/// much if it reads both, as it was when the last fifth of the rounds began; those that are one
/// list's alone are worth as they are. Equal scores go by the smaller vertex.
pub fn gvs_by_levels(lists: &[Vec<usize>], source: usize, asked: Gvs) -> Vec<usize> {
    let bytes = |vertex: usize| lists[vertex].len() as u64 * asked.width;
    let start = |vertex: usize| (0..vertex).map(bytes).sum::<u64>();
    let levels = levels(lists, source);
    let packed = all_packed(lists, asked);
    let portion = |vertex: usize, page: u64| {
        let (start, page) = (start(vertex), page * asked.page);
        let here = (start + bytes(vertex)).min(page + asked.page).saturating_sub(start.max(page));
        if here > 0 { (packed[vertex] * here / bytes(vertex)).max(1) } else { 0 }
    };
    let (mut chosen, mut sampled) = (Vec::new(), Vec::new());
    for round in 1..=asked.rounds {
        let before: Vec<usize> = chosen.clone();
        if (round - 1).is_multiple_of(asked.rounds.div_ceil(5)) {
            sampled.clone_from(&before);
        }
        let is_read = |level: usize, page: u64| {
            let wanted = |&vertex: &usize| levels[vertex] == level && !sampled.contains(&vertex);
            (0..lists.len()).filter(wanted).any(|vertex| portion(vertex, page) > 0)
        };
        let worth = |level: usize, page: u64| {
            let beside = [page.checked_sub(1), Some(page + 1)].into_iter().flatten();
            1.5 - 0.5 * beside.filter(|&page| is_read(level, page)).count() as f64
        };
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
            (parts + 1e-9) / packed[vertex] as f64
        };
        let is_free = |vertex: &usize| !chosen.contains(vertex) && bytes(*vertex) > 0;
        let mut free: Vec<_> =
            (0..lists.len()).filter(is_free).map(|vertex| (score(vertex), vertex)).collect();
        free.sort_by(|one, next| next.0.total_cmp(&one.0).then(one.1.cmp(&next.1)));
        let order = free.into_iter().map(|(_, vertex)| vertex).collect();
        take(order, &packed, (asked, round), &mut chosen);
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
