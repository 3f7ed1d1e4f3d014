//! Enums whose values are written by their names.

/// Declares an enum and adds `ALL` and `as_str`: the name of the value, or the text after `=`.
#[macro_export]
macro_rules! named_enum {
    (@text $variant:ident) => { stringify!($variant) };
    (@text $variant:ident $text:literal) => { $text };
    ($(#[$outer:meta])* $visibility:vis enum $name:ident {
        $($(#[$inner:meta])* $variant:ident $(= $text:literal)?,)*
    }) => {
        $(#[$outer])*
        $visibility enum $name { $($(#[$inner])* $variant,)* }

        impl $name {
            /// Every value, for docs and tests.
            pub const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];

            /// The value as it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $crate::named_enum!(@text $variant $($text)?),)*
                }
            }
        }
    };
}
