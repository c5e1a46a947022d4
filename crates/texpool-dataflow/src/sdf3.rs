//! Writes a graph in SDF3's XML of type `csdf` (`sdf3-csdf.xsd`), the input of SDF3's buffer and throughput analyses.
//!
//! Rates are written as runs, like in SDF3's own files (`3*128,0`). Buffer sizes are in tokens, and do not depend on
//! SDF3's placement of buffers. Token sizes are in bits. Execution times are whole numbers of the caller's unit.

use std::fmt::Write;

use super::{Csdf, Sequence};
use texpool_plan::internal::escaped;

/// Returns the XML text of a graph, with these channel capacities, execution times of phases by actor, and `token_bytes`
/// bytes per token.
///
/// A channel beyond the end of `capacities` is written without a size. A phase of an actor beyond the end of `times` takes
/// one unit of time.
pub fn to_sdf3(csdf: &Csdf, capacities: &[u64], times: &[Sequence], token_bytes: u64) -> String {
    let mut xml = Xml { text: String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), open: Vec::new() };
    xml.open(
        "sdf3",
        &[
            ("type", "csdf"),
            ("version", "1.0"),
            ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("xsi:noNamespaceSchemaLocation", "http://www.es.ele.tue.nl/sdf3/xsd/sdf3-csdf.xsd"),
        ],
    );
    xml.open("applicationGraph", &[("name", &csdf.name)]);
    structure(&mut xml, csdf);
    xml.open("csdfProperties", &[]);
    for (index, actor) in csdf.actors.iter().enumerate() {
        xml.open("actorProperties", &[("actor", &actor.name)]);
        xml.open("processor", &[("type", "gpu"), ("default", "true")]);
        let units = Sequence::constant(actor.phases, 1);
        xml.leaf("executionTime", &[("time", &rates(times.get(index).unwrap_or(&units)))]);
        xml.close();
        xml.close();
    }
    let bits = token_bytes.saturating_mul(8).to_string();
    for (index, channel) in csdf.channels.iter().enumerate() {
        xml.open("channelProperties", &[("channel", &channel.name)]);
        if let Some(size) = capacities.get(index).map(u64::to_string) {
            xml.leaf("bufferSize", &[("sz", &size), ("src", &size), ("dst", &size), ("mem", &size)]);
        }
        xml.leaf("tokenSize", &[("sz", &bits)]);
        xml.close();
    }
    while !xml.open.is_empty() {
        xml.close();
    }
    xml.text
}

/// Writes the actors, with a port for each end of a channel, and the channels.
fn structure(xml: &mut Xml, csdf: &Csdf) {
    let output = |channel: usize| format!("out{channel}");
    let input = |channel: usize| format!("in{channel}");
    xml.open("csdf", &[("name", &csdf.name), ("type", &csdf.name)]);
    for (index, actor) in csdf.actors.iter().enumerate() {
        xml.open("actor", &[("name", &actor.name), ("type", &actor.op)]);
        for (number, channel) in csdf.channels.iter().enumerate() {
            if channel.to == index {
                let (name, rate) = (input(number), rates(&channel.consumption));
                xml.leaf("port", &[("name", &name), ("type", "in"), ("rate", &rate)]);
            }
            if channel.from == index {
                let (name, rate) = (output(number), rates(&channel.production));
                xml.leaf("port", &[("name", &name), ("type", "out"), ("rate", &rate)]);
            }
        }
        xml.close();
    }
    for (number, channel) in csdf.channels.iter().enumerate() {
        let actor = |index: usize| csdf.actors.get(index).map_or("", |actor| actor.name.as_str());
        let (from, to, initial) = (output(number), input(number), channel.initial.to_string());
        let mut attributes = vec![
            ("name", channel.name.as_str()),
            ("srcActor", actor(channel.from)),
            ("srcPort", &from),
            ("dstActor", actor(channel.to)),
            ("dstPort", &to),
        ];
        if channel.initial > 0 {
            attributes.push(("initialTokens", &initial));
        }
        xml.leaf("channel", &attributes);
    }
    xml.close();
}

/// Formats a sequence as runs, for example `3*128,0`.
fn rates(sequence: &Sequence) -> String {
    let run = |&(count, tokens): &(u64, u64)| if count == 1 { tokens.to_string() } else { format!("{count}*{tokens}") };
    sequence.runs().iter().map(run).collect::<Vec<_>>().join(",")
}

/// Writes XML elements, one per line, indented.
struct Xml {
    text: String,
    open: Vec<&'static str>,
}

impl Xml {
    fn start(&mut self, name: &str, attributes: &[(&str, &str)]) {
        for _ in &self.open {
            self.text.push_str("  ");
        }
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escaped(value));
        }
    }

    fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name);
    }

    fn leaf(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            for _ in &self.open {
                self.text.push_str("  ");
            }
            let _ = writeln!(self.text, "</{name}>");
        }
    }
}
