//! Which columns of a table are the ends and the weight of its edges: as the user says, or by their
//! names.

use outercore_storage::settings;

/// Names of the column of sources, in lower case, letters alone.
const SOURCES: [&str; 11] = [
    "src",
    "source",
    "from",
    "srcid",
    "sourceid",
    "fromid",
    "fromnode",
    "fromnodeid",
    "startid",
    "start",
    "u",
];
/// Names of the column of targets.
const TARGETS: [&str; 15] = [
    "dst",
    "target",
    "to",
    "dest",
    "destination",
    "dstid",
    "targetid",
    "destid",
    "destinationid",
    "toid",
    "tonode",
    "tonodeid",
    "endid",
    "end",
    "v",
];
/// Names of the column of weights.
const WEIGHTS: [&str; 10] = [
    "weight",
    "w",
    "weights",
    "dist",
    "distance",
    "cost",
    "length",
    "capacity",
    "score",
    "similarity",
];

/// The columns that the user names: each by its name, or by its number from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeColumns {
    /// That of the sources.
    pub source: String,
    /// That of the targets.
    pub target: String,
    /// That of the weights, if they are to be read.
    pub weight: Option<String>,
}

impl settings::Value for EdgeColumns {
    const KIND: settings::Kind = settings::Kind::Text;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "{switch} cannot be {text:?}: {what}; it is source=NAME,target=NAME or \
                 source=NAME,target=NAME,weight=NAME, with names or numbers from 1"
            )
        };
        let (mut source, mut target, mut weight) = (None, None, None);
        for part in text.split(',') {
            let (role, name) = part.split_once('=').unwrap_or((part, ""));
            let place = match role.trim() {
                "source" => &mut source,
                "target" => &mut target,
                "weight" => &mut weight,
                _ => return Err(wrong("each part begins with source=, target= or weight=")),
            };
            if name.is_empty() || place.is_some() {
                return Err(wrong("each is named once"));
            }
            *place = Some(name.to_owned());
        }
        match (source, target) {
            (Some(source), Some(target)) => Ok(Self { source, target, weight }),
            _ => Err(wrong("both source and target are needed")),
        }
    }
}

/// The columns of an edge, as positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picked {
    /// That of the source.
    pub source: usize,
    /// That of the target.
    pub target: usize,
    /// That of the weight, if there is one.
    pub weight: Option<usize>,
}

impl Picked {
    /// The first two, and the third for the weight.
    pub const IN_ORDER: Self = Self { source: 0, target: 1, weight: Some(2) };

    /// Those that the user names, of `count` columns the first of which have these names. The error
    /// is the one that is not there.
    pub fn asked(asked: &EdgeColumns, names: &[String], count: usize) -> Result<Self, String> {
        let find = |wanted: &String| {
            let number = || wanted.parse().ok().filter(|number| (1..=count).contains(number));
            let named = |same: &dyn Fn(&String) -> bool| names.iter().position(same);
            named(&|name| name == wanted)
                .or_else(|| named(&|name| name.eq_ignore_ascii_case(wanted)))
                .or_else(|| number().map(|number: usize| number - 1))
                .ok_or_else(|| wanted.clone())
        };
        Ok(Self {
            source: find(&asked.source)?,
            target: find(&asked.target)?,
            weight: asked.weight.as_ref().map(find).transpose()?,
        })
    }

    /// Those with names that are known. None where a name is missing or is there twice.
    pub fn by_name(names: &[String]) -> Option<Self> {
        let words: Vec<String> = names.iter().map(|name| letters(name)).collect();
        let find = |known: &[&str]| {
            let mut found = (0..words.len()).filter(|&at| known.contains(&words[at].as_str()));
            found.next().filter(|_| found.next().is_none())
        };
        // Pandas and Neo4j call both alike.
        let alike = matches!(words.as_slice(), [a, b, ..] if a == b
            && ["node", "nodeid"].contains(&a.as_str()));
        let ends = if alike { Some((0, 1)) } else { find(&SOURCES).zip(find(&TARGETS)) };
        ends.map(|(source, target)| Self { source, target, weight: find(&WEIGHTS) })
    }

    /// Whether the first two are the ends, and the third is the weight if there is one.
    pub(super) fn is_in_order(&self) -> bool {
        (self.source, self.target) == (0, 1) && self.weight.is_none_or(|weight| weight == 2)
    }
}

/// A name without anything but its letters, in lower case.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphabetic);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use outercore_storage::settings::Value;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn columns_are_asked_for() {
        let asked = EdgeColumns::parse("columns", "source=b,target=3,weight=A").unwrap();
        let picked = Picked { source: 1, target: 2, weight: Some(0) };
        assert_eq!(Picked::asked(&asked, &names(&["a", "b", "c"]), 3), Ok(picked));
        assert_eq!(Picked::asked(&asked, &names(&["a", "b"]), 2), Err("3".to_owned()));
        for wrong in ["", "source=a", "source=a,target=", "source=a,source=b,target=c", "a=b"] {
            assert!(EdgeColumns::parse("columns", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn columns_are_known_by_their_names() {
        let find = |all: &[&str]| Picked::by_name(&names(all));
        let picked = |source, target, weight| Some(Picked { source, target, weight });
        assert_eq!(find(&["src", "dst"]), picked(0, 1, None));
        assert_eq!(find(&[":START_ID", ":END_ID", "cost"]), picked(0, 1, Some(2)));
        assert_eq!(find(&["id", "Target", "Source", "Weight"]), picked(2, 1, Some(3)));
        assert_eq!(find(&["node_1", "node_2"]), picked(0, 1, None));
        assert_eq!(find(&["source", "target", "w", "weight"]), picked(0, 1, None));
        assert_eq!(find(&["source", "from", "target"]), None);
        assert_eq!(find(&["left_id", "left_name", "right_id"]), None);
    }
}
