//! On behalf of which objects a writer writes, and whether a freeze lets it.

use std::sync::Arc;

use machinist_domain::safety::{EffectKind, Freeze, Initiator, ObjectRef, Refusal};
use parking_lot::Mutex;

use crate::freezes::Freezes;

/// Clones share the refusal.
#[derive(Debug, Clone)]
pub(crate) struct Behalf {
    freezes: Arc<Freezes>,
    /// The reconciled object, and others that a change concerns.
    objects: Vec<ObjectRef>,
    initiator: Initiator,
    refusal: Arc<Mutex<Option<Refusal>>>,
}

impl Behalf {
    pub(crate) fn of(freezes: &Arc<Freezes>, object: ObjectRef) -> Self {
        Self {
            freezes: Arc::clone(freezes),
            objects: vec![object],
            initiator: Initiator::User,
            refusal: Arc::default(),
        }
    }

    /// Stopped by the freezes of this object, too.
    pub(crate) fn and(mut self, object: ObjectRef) -> Self {
        self.objects.push(object);
        self
    }

    pub(crate) fn initiated_by(self, initiator: Initiator) -> Self {
        Self { initiator, ..self }
    }

    pub(crate) fn permit(&self, effect: EffectKind) -> Result<(), Refusal> {
        let mut objects = self.objects.iter();
        let permitted =
            objects.try_for_each(|object| self.freezes.permit(effect, self.initiator, object));
        if let Err(refusal) = &permitted {
            self.refusal.lock().get_or_insert_with(|| refusal.clone());
        }
        permitted
    }

    /// The freeze that covers the reconciled object now and stops most.
    pub(crate) fn freeze(&self) -> Option<Freeze> {
        self.freezes.of(self.objects.first()?)
    }

    /// The first refusal of the reconcile.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().clone()
    }
}
