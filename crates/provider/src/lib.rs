//! The provider's contract in domain terms: the spec half is pure.
