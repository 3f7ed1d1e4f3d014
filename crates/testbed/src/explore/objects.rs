//! JSON objects as small numbers, so that states which contain them are small and quick to compare.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

pub type Id = usize;

#[derive(Debug, Default)]
pub struct Objects {
    list: RefCell<Vec<Rc<Value>>>,
    ids: RefCell<HashMap<String, Id>>,
    merged: RefCell<HashMap<(Id, Id), Id>>,
}

impl Objects {
    pub fn id(&self, object: Value) -> Id {
        *self.ids.borrow_mut().entry(object.to_string()).or_insert_with(|| {
            let mut list = self.list.borrow_mut();
            list.push(Rc::new(object));
            list.len() - 1
        })
    }

    pub fn get(&self, id: Id) -> Rc<Value> {
        Rc::clone(&self.list.borrow()[id])
    }

    /// The object after a merge patch.
    pub fn merge(&self, object: Id, patch: Id) -> Id {
        if let Some(known) = self.merged.borrow().get(&(object, patch)) {
            return *known;
        }
        let mut whole = Value::clone(&self.get(object));
        merge(&mut whole, &self.get(patch));
        let id = self.id(whole);
        self.merged.borrow_mut().insert((object, patch), id);
        id
    }
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::default());
    }
    for (name, value) in patch {
        if !value.is_null() {
            merge(&mut target[name.as_str()], value);
        } else if let Value::Object(target) = target {
            target.remove(name);
        }
    }
}
