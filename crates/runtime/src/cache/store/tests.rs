//! The store under every order in which watch, lists, answers and live reads can overtake each other.
