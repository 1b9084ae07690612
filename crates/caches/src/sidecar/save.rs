//! How a selection is written: beside its name, and under it once it is whole.

use outercore_graph::{Direction, Graph, Keys, Result};
use outercore_storage::{DiskFile, hidden::write_beside};

use super::{About, BATCH, MAGIC, path_of, sum_of};

/// The most digits of a number of the head.
const DIGITS: usize = 20;

/// The vertices of a direction in the order of their choice, and the bytes of each packed list.
pub(crate) struct Choice {
    pub vertices: Vec<u32>,
    pub packed: Vec<u32>,
}

/// Saves a selection. What was there before is replaced in one step.
pub(crate) fn save(graph: &Graph, about: About, sides: &[Choice]) -> Result<About> {
    let (disk, path) = (graph.disk(), path_of(graph.path()));
    write_beside(disk, &path, |file| write(graph, about, sides, file))
}

/// Writes a selection, one direction after the other: no more than one is in memory.
fn write(graph: &Graph, mut about: About, sides: &[Choice], file: &DiskFile) -> Result<About> {
    let json = |about: &About| serde_json::to_vec(about).expect("text and numbers");
    // How long names are is known after they were written: there is room for it.
    let head_len = json(&about).len() + DIGITS * sides.len();
    let mut end = (12 + head_len) as u64;
    for (side, choice) in about.sides.iter_mut().zip(sides) {
        let columns = columns_of(graph, side.direction, choice)?;
        side.name_bytes = columns[1].len() as u64;
        for column in columns {
            file.write_at(&column, end)?;
            end += column.len() as u64;
        }
    }
    let mut head = json(&about);
    head.resize(head_len, b' ');
    let begin = [&MAGIC[..], &(head_len as u32).to_le_bytes(), &head].concat();
    file.write_at(&begin, 0)?;
    file.write_at(&sum_of(file, end)?.to_le_bytes(), end)?;
    file.sync()?;
    Ok(about)
}

/// The ids of vertices, their names, and the columns beside them, in the order of the ids.
fn columns_of(graph: &Graph, direction: Direction, choice: &Choice) -> Result<[Vec<u8>; 5]> {
    let mut orders = vec![u32::MAX; graph.connected() as usize];
    (0..).zip(&choice.vertices).for_each(|(order, &vertex)| orders[vertex as usize] = order);
    let degrees = crate::degrees::table(graph, direction)?;
    let room = |each: usize| Vec::<u8>::with_capacity(choice.vertices.len() * each);
    let (mut ids, mut names) = (room(8), Vec::new());
    let [mut choices, mut counts, mut sizes] = [room(4), room(4), room(4)];
    graph.for_each_key(BATCH, &mut |keys, all| {
        for (at, &vertex) in all.iter().enumerate() {
            let Some(&order) = orders.get(vertex as usize).filter(|&&order| order != u32::MAX)
            else {
                continue;
            };
            let id = match keys {
                Keys::Numbers(numbers) => numbers[at],
                Keys::Names { .. } => {
                    names.extend(keys.name(at).as_bytes());
                    names.len() as u64
                }
            };
            ids.extend(id.to_le_bytes());
            choices.extend(order.to_le_bytes());
            counts.extend(degrees[vertex as usize].to_le_bytes());
            sizes.extend(choice.packed[order as usize].to_le_bytes());
        }
        Ok(())
    })?;
    Ok([ids, names, choices, counts, sizes])
}
