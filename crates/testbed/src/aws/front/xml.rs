//! A small XML tree. Elements, attributes and text survive a round trip; comments and declarations, which no AWS
//! client reads, are dropped. Namespaces are compared as written.

use anyhow::{Context, Result, bail};
use quick_xml::Reader;
use quick_xml::escape::{escape, unescape};
use quick_xml::events::{BytesStart, Event};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::aws) struct Element {
    pub(in crate::aws) name: String,
    /// With the space before the first one.
    attributes: String,
    /// Escaped. Answers of AWS never mix text and elements.
    text: String,
    pub(in crate::aws) children: Vec<Element>,
}

impl Element {
    pub(in crate::aws) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(in crate::aws) fn root(name: &str, namespace: &str) -> Self {
        let mut root = Self::new(name);
        root.attributes = format!(" xmlns=\"{}\"", escape(namespace));
        root
    }

    pub(in crate::aws) fn text_child(self, name: &str, text: &str) -> Self {
        let mut child = Self::new(name);
        child.set_text(text);
        self.child(child)
    }

    pub(in crate::aws) fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    pub(in crate::aws) fn parse(document: &[u8]) -> Result<Self> {
        let mut reader = Reader::from_str(std::str::from_utf8(document)?);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event()? {
                Event::Start(start) => open.push(Self::of(&start)),
                Event::Empty(start) => innermost(&mut open)?.children.push(Self::of(&start)),
                Event::Text(text) => innermost(&mut open)?.text.push_str(&text),
                Event::CData(text) => innermost(&mut open)?.text.push_str(&escape(&*text)),
                Event::GeneralRef(name) => {
                    let reference = format!("&{};", &*name);
                    innermost(&mut open)?.text.push_str(&reference);
                }
                Event::End(_) => {
                    let closed = open.pop().context("an element ends that has no start")?;
                    innermost(&mut open)?.children.push(closed);
                }
                Event::Eof => break,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
        match (open.len(), open.pop().and_then(|mut top| top.children.pop())) {
            (1, Some(root)) => Ok(root),
            _ => bail!("the XML document is not complete"),
        }
    }

    fn of(start: &BytesStart<'_>) -> Self {
        Self {
            name: start.name().0.to_owned(),
            attributes: start.attributes_raw().to_owned(),
            ..Self::default()
        }
    }

    pub(in crate::aws) fn get(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(in crate::aws) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.children.iter_mut().find(|child| child.name == name)
    }

    /// Empty when there is none.
    pub(in crate::aws) fn text_at(&self, path: &[&str]) -> String {
        let found = path.iter().try_fold(self, |element, name| element.get(name));
        found.map(Self::text).unwrap_or_default()
    }

    pub(in crate::aws) fn text(&self) -> String {
        unescape(&self.text).map_or_else(|_| self.text.clone(), Into::into)
    }

    pub(in crate::aws) fn set_text(&mut self, text: &str) {
        self.text = escape(text).into_owned();
    }

    pub(in crate::aws) fn all<'a>(&'a self, name: &str) -> Vec<&'a Self> {
        let mut found = Vec::new();
        for child in &self.children {
            if child.name == name {
                found.push(child);
            }
            found.extend(child.all(name));
        }
        found
    }

    pub(in crate::aws) fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).into_iter().map(Self::text).collect()
    }

    /// At any depth, but not inside of one another.
    pub(in crate::aws) fn each_mut(&mut self, name: &str, change: &mut impl FnMut(&mut Self)) {
        for child in &mut self.children {
            if child.name == name {
                change(child);
            } else {
                child.each_mut(name, change);
            }
        }
    }

    pub(in crate::aws) fn to_document(&self) -> String {
        let mut document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        self.write(&mut document);
        document
    }

    fn write(&self, out: &mut String) {
        let Self { name, attributes, text, children } = self;
        out.extend(["<", name, attributes, ">"]);
        if children.is_empty() {
            out.push_str(text);
        }
        for child in children {
            child.write(out);
        }
        out.extend(["</", name, ">"]);
    }
}

fn innermost(open: &mut [Element]) -> Result<&mut Element> {
    open.last_mut().context("content outside of the document")
}

#[cfg(test)]
mod tests {
    use super::Element;

    const DOCUMENT: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
        <A xmlns=\"urn:a\"><set><item><id>one</id><note>a &lt; b &amp; c</note></item>\
        <item><id>two</id></item></set><empty/></A>";

    #[test]
    fn a_document_survives_a_round_trip() {
        let tree = Element::parse(DOCUMENT.as_bytes()).unwrap();
        let again = Element::parse(tree.to_document().as_bytes()).unwrap();
        assert_eq!(tree, again);
        assert!(tree.to_document().contains("<A xmlns=\"urn:a\">"));
    }

    #[test]
    fn texts_are_found_and_unescaped() {
        let tree = Element::parse(DOCUMENT.as_bytes()).unwrap();
        assert_eq!(tree.text_at(&["set", "item", "note"]), "a < b & c");
        assert_eq!(tree.text_at(&["set", "nothing"]), "");
        assert_eq!(tree.texts("id"), ["one", "two"]);
    }

    #[test]
    fn what_is_set_is_escaped() {
        let tree = Element::root("A", "urn:a").text_child("b", "1 < 2");
        assert!(tree.to_document().contains("<b>1 &lt; 2</b>"));
    }

    #[test]
    fn half_a_document_is_refused() {
        assert!(Element::parse(b"<A><b>").is_err());
        assert!(Element::parse(b"").is_err());
    }
}
