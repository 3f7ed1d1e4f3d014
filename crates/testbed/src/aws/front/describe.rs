//! Some filters cannot be left to moto: it breaks on `client-token`, and it judges states before the front has
//! rewritten them. They are taken out of the request and applied to the answer. A page may therefore be empty and
//! still have a next one, as with EC2.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::Timestamp;

use super::answer::Answer;
use super::query::{Parameters, Query};
use super::world::World;
use super::xml::Element;

/// The path leads to the value in an instance.
const OURS: [(&str, &[&str]); 3] = [
    ("client-token", &["clientToken"]),
    ("instance-state-name", &["instanceState", "name"]),
    ("instance-state-code", &["instanceState", "code"]),
];

#[derive(Debug, PartialEq, Eq)]
struct Filter {
    path: &'static [&'static str],
    values: Vec<String>,
}

impl Filter {
    fn accepts(&self, instance: &Element) -> bool {
        self.values.contains(&instance.text_at(self.path))
    }
}

pub(super) async fn instances(world: &World, query: &Query) -> Result<Answer> {
    let (mut parameters, filters) = split(&query.parameters);
    if let Some(size) = world.behaviour().page_size {
        parameters.insert("MaxResults".to_owned(), size.to_string());
    }
    let answer = world.forward(&query.with(parameters)).await?;
    let now = world.clock.now();
    // Without this parameter only running instances are returned.
    let only_running = query.action == "DescribeInstanceStatus"
        && query.get("IncludeAllInstances") != Some("true");
    Ok(answer.edit(|root| {
        for set in ["instancesSet", "instanceStatusSet"] {
            root.each_mut(set, &mut |set| {
                set.children.retain_mut(|instance| {
                    show(world, now, instance)
                        && filters.iter().all(|filter| filter.accepts(instance))
                        && (!only_running || state_of(instance) == "running")
                });
            });
        }
        if let Some(reservations) = root.get_mut("reservationSet") {
            let has_instances = |reservation: &Element| {
                let set = reservation.get("instancesSet");
                set.is_some_and(|set| !set.children.is_empty())
            };
            reservations.children.retain(has_instances);
        }
    }))
}

/// Returns false when it must not be seen.
fn show(world: &World, now: Timestamp, instance: &mut Element) -> bool {
    let id = instance.text_at(&["instanceId"]);
    if let (Some(shown), Some(state)) =
        (world.instances.state(&id, now), instance.get_mut("instanceState"))
    {
        for (name, value) in [("code", shown.code), ("name", shown.name)] {
            if let Some(field) = state.get_mut(name) {
                field.set_text(value);
            }
        }
    }
    world.instances.is_visible(&id, now)
}

fn state_of(instance: &Element) -> String {
    instance.text_at(&["instanceState", "name"])
}

fn split(parameters: &Parameters) -> (Parameters, Vec<Filter>) {
    let mut rest = Parameters::new();
    let mut numbered: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (name, value) in parameters {
        match name.strip_prefix("Filter.").and_then(|n| n.split_once('.')) {
            Some((number, field)) => numbered.entry(number).or_default().push((field, value)),
            None => drop(rest.insert(name.clone(), value.clone())),
        }
    }
    let mut ours = Vec::new();
    let mut next = 1;
    for fields in numbered.into_values() {
        let name = fields.iter().find(|(field, _)| *field == "Name");
        let our = OURS.iter().find(|(our, _)| Some(our) == name.map(|(_, name)| name));
        if let Some((_, path)) = our {
            let values = fields.iter().filter(|(field, _)| *field != "Name");
            let values = values.map(|(_, value)| (*value).to_owned()).collect();
            ours.push(Filter { path, values });
        } else {
            for (field, value) in fields {
                rest.insert(format!("Filter.{next}.{field}"), value.to_owned());
            }
            next += 1;
        }
    }
    (rest, ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> Parameters {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn our_filters_are_taken_out_and_the_rest_is_numbered_anew() {
        let (rest, ours) = split(&parameters(&[
            ("MaxResults", "5"),
            ("Filter.1.Name", "client-token"),
            ("Filter.1.Value.1", "a"),
            ("Filter.1.Value.2", "b"),
            ("Filter.2.Name", "tag:Name"),
            ("Filter.2.Value.1", "c"),
        ]));
        let expected =
            [("MaxResults", "5"), ("Filter.1.Name", "tag:Name"), ("Filter.1.Value.1", "c")];
        assert_eq!(rest, parameters(&expected));
        let values = vec!["a".to_owned(), "b".to_owned()];
        let path: &[&str] = &["clientToken"];
        assert_eq!(ours, [Filter { path, values }]);
    }
}
