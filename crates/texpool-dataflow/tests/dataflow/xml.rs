//! SDF3's XML is well-formed, has the elements of its schema in the right order, and describes the graph.

use roxmltree::{Document, Node};
use texpool_dataflow::{Actor, Channel, Csdf, Sequence, least_buffers, published::EXAMPLES, to_sdf3};

fn children<'a>(node: Node<'a, 'a>, name: &'a str) -> Vec<Node<'a, 'a>> {
    node.children().filter(|child| child.has_tag_name(name)).collect()
}

/// `3*128,0` by phase.
fn sequence(text: &str) -> Sequence {
    Sequence::new(text.split(',').flat_map(|run| {
        let (count, tokens) = run.split_once('*').unwrap_or(("1", run));
        std::iter::repeat_n(tokens.parse().unwrap(), count.parse().unwrap())
    }))
}

/// Reads the graph and the buffer sizes back.
fn read(text: &str) -> (Csdf, Vec<u64>) {
    let document = Document::parse(text).unwrap();
    let root = document.root_element();
    assert_eq!(
        (root.tag_name().name(), root.attribute("type"), root.attribute("version")),
        ("sdf3", Some("csdf"), Some("1.0"))
    );
    let application = root.first_element_child().unwrap();
    let [graph, properties] = application.children().filter(Node::is_element).collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!((graph.tag_name().name(), properties.tag_name().name()), ("csdf", "csdfProperties"));
    let actors = children(graph, "actor");
    let index = |name: &str| actors.iter().position(|actor| actor.attribute("name") == Some(name)).unwrap();
    let port = |actor: usize, name: &str, direction: &str| {
        let ports = children(actors[actor], "port");
        let port = ports.iter().find(|port| port.attribute("name") == Some(name)).unwrap();
        assert_eq!(port.attribute("type"), Some(direction));
        sequence(port.attribute("rate").unwrap())
    };
    let channel = |channel: Node| {
        let get = |key: &str| channel.attribute(key).unwrap();
        let (from, to) = (index(get("srcActor")), index(get("dstActor")));
        Channel {
            name: get("name").into(),
            from,
            to,
            production: port(from, get("srcPort"), "out"),
            consumption: port(to, get("dstPort"), "in"),
            initial: channel.attribute("initialTokens").map_or(0, |tokens| tokens.parse().unwrap()),
        }
    };
    let time = |actor: Node| {
        let properties = children(properties, "actorProperties");
        let name = actor.attribute("name");
        let of = properties.iter().find(|properties| properties.attribute("actor") == name).unwrap();
        let processor = of.first_element_child().unwrap();
        sequence(processor.first_element_child().unwrap().attribute("time").unwrap()).phases()
    };
    let actor = |actor: &Node| Actor {
        name: actor.attribute("name").unwrap().into(),
        op: actor.attribute("type").unwrap().into(),
        phases: time(*actor),
    };
    let size = |properties: &Node| {
        let sizes: Vec<_> = properties.children().filter(Node::is_element).collect();
        assert_eq!((sizes[0].tag_name().name(), sizes[1].tag_name().name()), ("bufferSize", "tokenSize"));
        assert!(["src", "dst", "mem"].iter().all(|key| sizes[0].attribute(*key) == sizes[0].attribute("sz")));
        sizes[0].attribute("sz").unwrap().parse().unwrap()
    };
    let csdf = Csdf {
        name: graph.attribute("name").unwrap().into(),
        actors: actors.iter().map(actor).collect(),
        channels: children(graph, "channel").into_iter().map(channel).collect(),
    };
    (csdf, children(properties, "channelProperties").iter().map(size).collect())
}

#[test]
fn written_graphs_are_read_back_equal() {
    for example in &EXAMPLES {
        let csdf = example.csdf().unwrap();
        let sizes = least_buffers(&csdf).unwrap().capacities;
        assert_eq!(read(&to_sdf3(&csdf, &sizes, &[], 1)), (csdf, sizes));
    }
}

/// Execution times are runs like rates, one for each phase.
#[test]
fn times_of_phases_are_written() {
    let csdf = EXAMPLES[3].csdf().unwrap();
    let times: Vec<Sequence> =
        csdf.actors.iter().map(|actor| Sequence::new((0..actor.phases).map(|p| 7 + p / 3))).collect();
    let text = to_sdf3(&csdf, &[], &times, 1);
    let document = Document::parse(&text).unwrap();
    let written = document.descendants().filter(|node| node.has_tag_name("executionTime"));
    assert_eq!(written.map(|node| sequence(node.attribute("time").unwrap())).collect::<Vec<_>>(), times);
    assert!(text.contains("time=\"3*7,8\""), "{text}");
}

#[test]
fn names_of_any_kind_survive() {
    let names = ["a<b>&\"c'", "tab\tline\nreturn\r", "  spaces  ", "日本 ü 🦀", "]]>", "<!-- -->", "&amp;"];
    let actor = |name: &&str| Actor { name: (*name).into(), op: format!("op {name}"), phases: 1 };
    let channel = |index: usize| Channel {
        name: format!("{} -> {}", names[index], names[index + 1]),
        from: index,
        to: index + 1,
        production: Sequence::new([1]),
        consumption: Sequence::new([1]),
        initial: index as u64,
    };
    let csdf = Csdf {
        name: names.concat(),
        actors: names.iter().map(actor).collect(),
        channels: (0..names.len() - 1).map(channel).collect(),
    };
    let sizes: Vec<u64> = (0..6).collect();
    assert_eq!(read(&to_sdf3(&csdf, &sizes, &[], 4)), (csdf, sizes));
}

#[test]
fn characters_invalid_in_xml_are_replaced() {
    let actor = Actor { name: "a\0b\u{1b}c\u{ffff}".into(), op: "x".into(), phases: 2 };
    let csdf = Csdf { name: String::new(), actors: vec![actor], channels: Vec::new() };
    let (read, _) = read(&to_sdf3(&csdf, &[], &[], 4));
    assert_eq!(read.actors[0].name, "a\u{fffd}b\u{fffd}c\u{fffd}");
}
