use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::conformance::scene::{Checked, Scene, ensure, expect, store};

/// Every field that the spec half declares as hot is changed by `update`, without another instance.
pub(super) async fn a_hot_field_is_applied_to_a_living_instance(scene: &Scene<'_>) -> Checked {
    let good = scene.bed.good_spec();
    for field in scene.bed.specs().hot_fields(&good) {
        let edited = scene.bed.hot_spec(field);
        let edited = edited.ok_or_else(|| format!("Bed::hot_spec has no spec for {field}"))?;
        ensure(differ_in(&good, &edited, field)?, || {
            format!("Bed::hot_spec differs from the good spec in more than {field}, or not in it")
        })?;
        apply(scene, &good, edited).await.map_err(|reason| format!("{field}: {reason}"))?;
    }
    Ok(())
}

async fn apply(scene: &Scene<'_>, good: &Arc<RawValue>, edited: Arc<RawValue>) -> Checked {
    let mut machine = scene.created().await?;
    let instance = scene.running(&machine).await?;
    store(&mut machine, &instance);
    machine.spec = edited;
    let differs = scene.seen(&machine, |instance| instance.drift.is_some()).await;
    differs.map_err(|reason| format!("its change is no drift: {reason}"))?;
    let updated = expect("update", scene.cloud.update(&machine).await)?;
    ensure(updated.id == instance.id, || format!("{} became {}", instance.id, updated.id))?;
    ensure(updated.drift.is_none(), || format!("updated, and still {:?}", updated.drift))?;
    store(&mut machine, &updated);
    scene.seen(&machine, |instance| instance.drift.is_none()).await?;
    // What changed is the instance, not only the answer.
    machine.spec = Arc::clone(good);
    let changed = scene.seen(&machine, |instance| instance.drift.is_some()).await;
    changed.map_err(|reason| format!("the instance still has the former value: {reason}"))?;
    scene.ensure_existing(&machine, 1).await
}

/// Whether the specs differ in this field and in no other.
fn differ_in(one: &RawValue, other: &RawValue, field: &str) -> Result<bool, String> {
    let read = |spec: &RawValue| -> Result<(Option<Value>, Value), String> {
        let mut spec: Value =
            serde_json::from_str(spec.get()).map_err(|error| error.to_string())?;
        let value = spec.as_object_mut().and_then(|fields| fields.remove(field));
        Ok((value, spec))
    };
    let (one, other) = (read(one)?, read(other)?);
    Ok(one.0 != other.0 && one.1 == other.1)
}
