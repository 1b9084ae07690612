//! A reader of the format, written from `docs/format.md` alone: it shares no code with the library,
//! so that the page and the library can be held against each other. Slow and simple; a fault is a
//! panic.

use std::path::{Path, PathBuf};

use serde_json::Value;

const PAGE: usize = 4096;

/// An edge by internal ids, with the bits of its weight (0 without weights).
pub type Edge = (u64, u64, u64);

/// A graph on disk.
pub struct Decoded {
    folder: PathBuf,
    /// The manifest.
    pub manifest: Value,
}

/// CRC-32C, bit by bit.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes
        .iter()
        .fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

/// Little-endian numbers of `width` bytes.
pub fn numbers(bytes: &[u8], width: usize) -> Vec<u64> {
    assert_eq!(bytes.len() % width, 0, "entries are whole");
    bytes
        .chunks(width)
        .map(|entry| entry.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
        .collect()
}

impl Decoded {
    /// Reads the manifest and compares its seal.
    pub fn open(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
        let (json, seal) = text.rsplit_once("\n# crc32c ").expect("the manifest ends in its seal");
        assert_eq!(seal, format!("{:08x}\n", crc32c(json.as_bytes())));
        Self { folder: folder.to_owned(), manifest: serde_json::from_str(json).unwrap() }
    }

    /// A whole number of the manifest.
    pub fn number(&self, key: &str) -> u64 {
        self.manifest[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key} is no number: {}", self.manifest[key]))
    }

    /// Whether the manifest says so.
    pub fn says(&self, key: &str) -> bool {
        self.manifest[key].as_bool().unwrap_or_else(|| panic!("{key} is not true or false"))
    }

    /// The names of all sections, in the manifest's order.
    pub fn names(&self) -> Vec<String> {
        self.manifest["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| section["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// A section without its padding; padding, checksums and their seal are verified.
    pub fn section(&self, name: &str) -> Vec<u8> {
        let sections = self.manifest["sections"].as_array().unwrap();
        let entry = sections
            .iter()
            .find(|section| section["name"] == name)
            .unwrap_or_else(|| panic!("no section {name}"));
        let length = entry["bytes"].as_u64().unwrap() as usize;
        let mut bytes = if entry["striped"] == true {
            self.stripes(name)
        } else {
            std::fs::read(self.folder.join(name)).unwrap()
        };
        assert_eq!(bytes.len(), length.next_multiple_of(PAGE), "{name} ends with a page");
        assert!(bytes[length..].iter().all(|&byte| byte == 0), "{name} is padded with zeros");
        let sums = std::fs::read(self.folder.join(format!("{name}.crc"))).unwrap();
        assert_eq!(
            u64::from(crc32c(&sums)),
            entry["sums_crc"].as_u64().unwrap(),
            "the seal of {name}.crc"
        );
        let expected: Vec<u64> = bytes.chunks(PAGE).map(|page| crc32c(page).into()).collect();
        assert_eq!(numbers(&sums, 4), expected, "the checksums of {name}");
        bytes.truncate(length);
        bytes
    }

    /// A striped section with its padding: byte `b` is in unit `q = b / u`, in folder `q mod n`, at
    /// `(q / n) * u + b mod u`.
    fn stripes(&self, name: &str) -> Vec<u8> {
        let folders = self.manifest["stripes"].as_array().unwrap();
        let files: Vec<Vec<u8>> = folders
            .iter()
            .map(|folder| std::fs::read(Path::new(folder.as_str().unwrap()).join(name)).unwrap())
            .collect();
        let (unit, count) = (self.number("stripe_unit") as usize, files.len());
        let total: usize = files.iter().map(Vec::len).sum();
        (0..total)
            .map(|b| {
                let q = b / unit;
                files[q % count][q / count * unit + b % unit]
            })
            .collect()
    }

    /// The weights in a section, as bits; zeros where the graph has none.
    fn weights(&self, name: &str, count: usize) -> Vec<u64> {
        match self.number("weight_bytes") as usize {
            0 => vec![0; count],
            width => numbers(&self.section(name), width),
        }
    }

    /// Lists of `out`, `in` or `row`: vertex, neighbor, weight.
    pub fn rows(&self, direction: &str) -> Vec<Edge> {
        let connected = self.number("connected") as usize;
        let degrees = numbers(&self.section(&format!("{direction}.degrees")), 4);
        let index = numbers(&self.section(&format!("{direction}.index")), 8);
        let neighbors = numbers(
            &self.section(&format!("{direction}.adjacency")),
            self.number("neighbor_bytes") as usize,
        );
        // Edges in row format have no weights there.
        let weights = if direction == "row" {
            vec![0; neighbors.len()]
        } else {
            self.weights(&format!("{direction}.weights"), neighbors.len())
        };
        assert_eq!(
            (degrees.len(), index.len(), weights.len()),
            (connected, connected.div_ceil(64) + 1, neighbors.len())
        );
        assert_eq!(
            index.last().copied(),
            Some(neighbors.len() as u64),
            "the last entry of the index counts all"
        );
        let mut edges = Vec::new();
        for vertex in 0..connected {
            let before: u64 = degrees[vertex - vertex % 64..vertex].iter().sum();
            let first = (index[vertex / 64] + before) as usize;
            let list = first..first + degrees[vertex] as usize;
            let row: Vec<Edge> =
                list.map(|entry| (vertex as u64, neighbors[entry], weights[entry])).collect();
            assert!(row.is_sorted(), "the list of {vertex} ascends");
            edges.extend(row);
        }
        edges
    }

    /// The first neighbors, `None` where all bits are ones.
    pub fn heads(&self, direction: &str) -> Vec<Option<u64>> {
        let width = self.number("neighbor_bytes") as usize;
        let none = u64::MAX >> (64 - 8 * width);
        numbers(&self.section(&format!("{direction}.heads")), width)
            .into_iter()
            .map(|head| Some(head).filter(|&head| head != none))
            .collect()
    }

    /// Where the stripes of targets end, and the first one begins.
    fn ends_of_stripes(&self) -> Vec<u64> {
        let stripes = numbers(&self.section("grid.stripes"), 8);
        assert_eq!((stripes[0], stripes[stripes.len() - 1]), (0, self.number("connected")));
        assert!(stripes.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] <= 1 << 17));
        stripes
    }

    /// How many edges the grid has.
    fn tiled(&self) -> u64 {
        match self.manifest["layout"].as_str() {
            None => self.number("arcs"),
            Some("hybrid") => self.manifest["hybrid"]["grid_arcs"].as_u64().unwrap(),
            Some(_) => 0,
        }
    }

    /// The edges of the grid in the order of its words; also how many words are skips.
    pub fn grid(&self) -> (Vec<Edge>, u64) {
        let stripes = self.ends_of_stripes();
        let (tiles, chunks, words) =
            (self.section("grid.tiles"), self.section("grid.chunks"), self.section("grid.words"));
        let weights = self.weights("grid.weights", self.tiled() as usize);
        let (mut edges, mut skips, mut first_chunk, mut last) = (Vec::new(), 0, 0, (0, 0));
        for tile in tiles.chunks(40) {
            let (halves, fields) = (numbers(&tile[..8], 4), numbers(&tile[8..], 8));
            let (segment, stripe) = (halves[0], halves[1]);
            assert!(
                (stripe, segment) >= last && fields[0] % PAGE as u64 == 0,
                "tiles are in order, each from a page on"
            );
            assert_eq!((fields[2], fields[3]), (edges.len() as u64, first_chunk));
            let count = fields[1] & 0xffff_ffff_ffff;
            let code = Code::of(fields[1], self.number("version") >= 4);
            let Code { bits, low_bits, .. } = code;
            let bit = |at: u64| u64::from(words[(fields[0] + at / 8) as usize] >> (at % 8) & 1);
            last = (stripe, segment);
            let (mut source, mut place, base) = (segment << 22, 0, stripes[stripe as usize]);
            let before = edges.len();
            for number in 0..count {
                if number % (1 << 18) == 0 {
                    let chunk = numbers(&chunks[first_chunk as usize * 16..][..16], 8);
                    if number == 0 {
                        source = (segment << 22) + chunk[0];
                    }
                    let begins = [source - (segment << 22), (edges.len() - before) as u64];
                    assert_eq!(chunk, begins, "chunk {first_chunk}");
                    first_chunk += 1;
                    place = source << low_bits;
                }
                let word = (0..bits).rev().fold(0, |word, at| word << 1 | bit(number * bits + at));
                if let Some(low) = code.step(word, &mut source, &mut place) {
                    let (target, end) = (base + low, stripes[stripe as usize + 1]);
                    assert!(source >> 22 == segment && target < end, "an edge lies in its tile");
                    edges.push((source, target, weights[edges.len()]));
                } else {
                    skips += 1;
                }
            }
            assert!(edges[before..].is_sorted(), "a tile's edges ascend");
        }
        assert_eq!(
            (chunks.len() as u64, self.number("grid_words")),
            (first_chunk * 16, edges.len() as u64 + skips)
        );
        (edges, skips)
    }

    /// The original id of each internal id, as text.
    pub fn original_ids(&self) -> Vec<String> {
        let (vertices, width) = (self.number("vertices"), self.number("id_bytes") as usize);
        let keys: Vec<String> = match self.manifest["ids"]["kind"].as_str().unwrap() {
            "range" => (0..vertices)
                .map(|rank| (self.manifest["ids"]["first"].as_u64().unwrap() + rank).to_string())
                .collect(),
            "numbers" => numbers(&self.section("ids.keys"), 8).iter().map(u64::to_string).collect(),
            "names" => {
                let (bytes, ends) =
                    (self.section("ids.keys"), numbers(&self.section("ids.ends"), 8));
                let starts = std::iter::once(0).chain(ends.iter().copied());
                starts
                    .zip(&ends)
                    .map(|(start, &end)| {
                        String::from_utf8(bytes[start as usize..end as usize].to_vec()).unwrap()
                    })
                    .collect()
            }
            kind => panic!("unknown kind of ids {kind}"),
        };
        let table = |name: &str| {
            if width == 0 { (0..vertices).collect() } else { numbers(&self.section(name), width) }
        };
        let (vertex, rank) = (table("ids.vertex"), table("ids.rank"));
        assert_eq!([keys.len(), vertex.len(), rank.len()], [vertices as usize; 3]);
        assert!(
            (0..vertices).all(|number| rank[vertex[number as usize] as usize] == number),
            "the tables of ids are each other's inverse"
        );
        rank.iter().map(|&rank| keys[rank as usize].clone()).collect()
    }
}

/// What the words of a tile are.
struct Code {
    bits: u64,
    low_bits: u64,
    /// Whether they are gaps between places.
    gaps: bool,
}

impl Code {
    /// As a tile says it: the version has `gaps`, or not.
    fn of(field: u64, gaps: bool) -> Self {
        let (bits, low_bits) = match field >> 48 {
            0 => (24, 17),
            _ => (field >> 48 & 0xff, field >> 56 & 127),
        };
        assert_eq!(field >> 63 == 1, gaps, "words are gaps from version 4 on");
        assert!(
            [8, 12, 16, 20, 24].contains(&bits)
                && low_bits <= 17
                && (gaps || (low_bits >= 8 && low_bits < bits)),
            "words of {bits} bits, {low_bits} low ones"
        );
        Self { bits, low_bits, gaps }
    }

    /// Goes on by a word; the target of its edge, unless it is a skip.
    fn step(&self, word: u64, source: &mut u64, place: &mut u64) -> Option<u64> {
        let &Self { bits, low_bits, gaps } = self;
        let mask = (1 << low_bits) - 1;
        if gaps {
            let skips = (1 << bits) - 8;
            *place += if word < skips { word } else { 1 << (bits - 1 + word - skips) };
            *source = *place >> low_bits;
            return (word < skips).then_some(*place & mask);
        }
        let (delta, low) = (word >> low_bits, word & mask);
        let is_skip = delta == (1 << (bits - low_bits)) - 1;
        *source += if is_skip { low } else { delta };
        (!is_skip).then_some(low)
    }
}
