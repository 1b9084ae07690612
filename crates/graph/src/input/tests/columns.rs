//! Which columns are the edges, and what ids and weights say.

use super::*;

fn asked(columns: &str) -> InputOptions {
    let columns = outercore_storage::settings::Value::parse("columns", columns).unwrap();
    InputOptions { columns: Some(columns), ..InputOptions::default() }
}

fn pair(source: &str, target: &str) -> [String; 2] {
    [source.to_owned(), target.to_owned()]
}

const JOINED: &str =
    "left_id,left_name,right_id,right_name,score\n1,ann,2,bob,0.5\n2,bob,3,eve,1\n";

#[test]
fn headers_that_say_nothing_known_are_refused() {
    for (name, text, column) in [
        ("e.csv", JOINED, "\"right_name\""),
        ("e.csv", "a,b\n1,2\n", "\"b\""),
        ("e.csv", "person,friend,strength\nann,bob,1\nbob,eve,2\n", "\"friend\""),
        ("e.csv", "source,target,time\n1,2,1700000000\n", "\"time\""),
        ("e.txt", "source source2 target\n1 2 3\n", "\"source2\""),
    ] {
        let error = complaint(read(name, text));
        assert!(error.what.contains(column) && error.advice.contains("--columns"), "{error}");
    }
    let unweighted = options(None, Some(WeightKind::None));
    let timed = Sample::new("e.csv", "source,target,time\n1,2,1700000000\n");
    assert_eq!(timed.read(&unweighted).unwrap().edges, [[1, 2]]);
    let weighted = options(None, Some(WeightKind::F64));
    assert_eq!(timed.read(&weighted).unwrap().weighted, [([1, 2], 1.7e9)]);
    assert!(complaint(Sample::new("e.csv", JOINED).read(&unweighted)).advice.contains("--columns"));
}

#[test]
fn known_names_are_found_wherever_they_stand() {
    let read = |text| read("e.csv", text).unwrap();
    assert_eq!(read("id,source,target\n7,1,2\n8,2,3\n").edges, [[1, 2], [2, 3]]);
    assert_eq!(read("target,source\n1,2\n").edges, [[2, 1]]);
    let gephi = "Source,Target,Type,Id,Label,Weight\n1,2,Directed,0,,1.5\n2,3,Directed,1,,2\n";
    assert_eq!(read(gephi).weighted, [([1, 2], 1.5), ([2, 3], 2.0)]);
    let names = "weight,from,to,note\n1,ann,bob,x\n2,bob,eve,y\n";
    assert_eq!(read(names).named_weighted, [(pair("ann", "bob"), 1.0), (pair("bob", "eve"), 2.0)]);
    // What is called the weight is not left out because it is none.
    let error = complaint(super::read("e.csv", "source,target,weight\n1,2,high\n"));
    assert_eq!(error.line, Some(2), "{error}");
}

#[test]
fn many_columns_without_names_are_refused() {
    let timed = "1 2 1 1082008561\n2 3 1 1082008562\n";
    let error = complaint(read("e.txt", timed));
    assert!(error.what.contains("4 columns") && error.what.contains("1082008561"), "{error}");
    assert_eq!(
        read("out.x", format!("% asym positive\n% 2 3 3\n{timed}")).unwrap().weighted.len(),
        2
    );
    let sample = Sample::new("e.txt", timed);
    let with = |kind| sample.read(&options(None, Some(kind))).unwrap();
    assert_eq!(with(WeightKind::None).edges, [[1, 2], [2, 3]]);
    assert_eq!(with(WeightKind::U32).weighted.len(), 2);
    assert_eq!(read("e.txt", "1 2 5\n").unwrap().weighted, [([1, 2], 5.0)]);
}

#[test]
fn columns_are_those_that_the_user_names() {
    let joined = Sample::new("e.csv", JOINED);
    let read = |columns| joined.read(&asked(columns));
    let named = read("source=left_id,target=RIGHT_ID").unwrap();
    assert_eq!(named.edges, [[1, 2], [2, 3]]);
    let weighted = read("source=3,target=1,weight=score").unwrap();
    assert_eq!(weighted.weighted, [([2, 1], 0.5), ([3, 2], 1.0)]);
    let names = read("source=left_name,target=right_name,weight=score").unwrap();
    assert_eq!(names.named_weighted, [(pair("ann", "bob"), 0.5), (pair("bob", "eve"), 1.0)]);
    let numbered = read("source=2,target=4,weight=5").unwrap();
    assert_eq!(numbered.named_weighted, names.named_weighted, "the first line is no edge");
    let error = complaint(read("source=left,target=right_id"));
    assert!(error.what.contains("\"left\"") && error.what.contains("\"left_id\""), "{error}");
    let info = joined.open(&asked("source=left_id,target=right_id")).unwrap();
    assert!(info.info().description.contains("ids in columns 1 and 3"));
    // Without a header, no line is lost.
    let plain = Sample::new("e.txt", "x a 1 y\nz b 1 w\n");
    let all = plain.read(&asked("source=1,target=4")).unwrap().named;
    assert_eq!(all, [pair("x", "y"), pair("z", "w")]);
    let short = Sample::new("e.txt", "1 2 3 4\n5 6\n");
    let error = complaint(short.read(&asked("source=1,target=4")));
    assert_eq!((error.line, error.what.contains("columns 1 and 4")), (Some(2), true), "{error}");
    let pairs = Sample::new("p.u32", [0u8; 8]).read(&asked("source=1,target=2"));
    assert!(matches!(pairs, Err(GraphError::Usage(_))));
}

#[test]
fn zeros_in_front_are_not_lost() {
    // Seen at the beginning: ids are strings.
    let read = read("e.txt", "007 7\n7 8\n").unwrap();
    assert_eq!(read.named, [pair("007", "7"), pair("7", "8")]);
    // Seen later: the line is named, and what can be done.
    for line in ["1 07", "00 1", "000000000000000000000000000001 2"] {
        let text = format!("{}{line}\n", "1 2\n".repeat(3000));
        let error = complaint(super::read("e.txt", &text));
        assert_eq!(error.line, Some(3001), "{error}");
        assert!(error.advice.contains("--ids string") && error.advice.contains("--ids u64"));
        let numbers = Sample::new("e.txt", &text).read(&options(Some(IdKind::Numbers), None));
        assert_eq!(numbers.unwrap().edges.len(), 3001);
    }
    let sample = Sample::new("e.txt", "1 2\n");
    let vertices = sample.add("v.txt", format!("{}02\n", "1\n".repeat(3000)));
    let with = InputOptions { vertices: vec![vertices], ..InputOptions::default() };
    assert_eq!(complaint(sample.read(&with)).line, Some(3001));
    // A format whose ids are numbers says so.
    assert_eq!(super::read("g.gr", "p sp 9 1\na 007 1 3\n").unwrap().weighted, [([7, 1], 3.0)]);
}

#[test]
fn whole_weights_are_exact_or_refused() {
    let with = |weight: &str, kind| {
        Sample::new("e.txt", format!("1 2 1\n1 2 {weight}\n")).read(&options(None, Some(kind)))
    };
    for (kind, good) in [
        (WeightKind::F64, "9007199254740992"),
        (WeightKind::F64, "-9007199254740994"),
        (WeightKind::F64, "1000000000000000000"),
        (WeightKind::F64, "1e300"),
        (WeightKind::F64, "9007199254740993e0"),
        (WeightKind::F64, "0009007199254740992.000"),
        (WeightKind::F64, "0.1"),
        (WeightKind::F32, "16777216"),
        (WeightKind::F32, "16777218"),
        (WeightKind::F32, "16777216.5"),
        // Beyond what is a whole number anywhere, a number is written as the nearest reads.
        (WeightKind::F64, "100000000000000000000000"),
        (WeightKind::F32, "340282350000000000000000000000000000000"),
    ] {
        assert!(with(good, kind).is_ok(), "{good} in {kind}");
    }
    for (kind, bad) in [
        (WeightKind::F64, "9007199254740993"),
        (WeightKind::F64, "-9007199254740993.0"),
        (WeightKind::F64, "18446744073709551615"),
        (WeightKind::F64, "1000000000000000000000000000000000000001"),
        (WeightKind::F32, "16777217"),
        (WeightKind::F32, "-16777217"),
        (WeightKind::F32, "4294967295"),
    ] {
        let error = complaint(with(bad, kind));
        assert_eq!(error.line, Some(2), "{bad}");
        assert!(error.what.contains(bad) && error.what.contains("exactly"), "{error}");
    }
    let market = "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 9007199254740993\n";
    assert_eq!(complaint(read("m.mtx", market)).line, Some(3));
    let named = complaint(read("e.txt", "a b 9007199254740993\n"));
    assert_eq!(named.line, Some(1), "{named}");
}

#[test]
fn quotation_marks_hide_separators() {
    let csv = InputOptions { format: Format::Csv, ..InputOptions::default() };
    let expected = [pair("a;b", "c"), pair("d;e", "f")];
    for options in [&InputOptions::default(), &csv] {
        let sample = Sample::new("e.csv", "\"a;b\",\"c\"\n\"d;e\",\"f\"\n");
        assert_eq!(sample.read(options).unwrap().named, expected);
        let sample = Sample::new("e.csv", "\"a;b\"\t\"c\"\n\"d;e\"\t\"f\"\n");
        assert_eq!(sample.read(options).unwrap().named, expected);
        let sample = Sample::new("e.csv", "\"x, \"\"y,\"\"\";\"z,\"\n\"u,\";\"v,w\"\n");
        let read = sample.read(options).unwrap().named;
        assert_eq!(read, [pair("u,", "v,w"), pair("x, \"y,\"", "z,")]);
        let sample = Sample::new("e.csv", "\"a\tb\",\"c\"\n\"d\te\",\"f\"\n");
        assert_eq!(sample.read(options).unwrap().named[0], pair("a\tb", "c"));
    }
    let blank = read("e.txt", "\"New York, NY\" \"Rio\"\n\"A, B\" \"C, D\"\n").unwrap();
    assert_eq!(blank.named, [pair("A, B", "C, D"), pair("New York, NY", "Rio")]);
    // A mark within a column is a letter of it.
    assert_eq!(read("e.csv", "5\" disk,x\n7\" disk,y\n").unwrap().named[0], pair("5\" disk", "x"));
}
