//! Switches: enums each value of which has a name and a line of documentation, given once.
//!
//! [`named!`](crate::named!) declares such an enum. Names, parsing, printing, the names in JSON and
//! the texts of help pages all come from that declaration.

/// An enum whose values have names.
pub trait Named: Copy + Eq + 'static {
    /// What it is called in messages.
    const WHAT: &'static str;
    /// Every value, in the order of [`Named::CHOICES`].
    const ALL: &'static [Self];
    /// Each value's name and what it means.
    const CHOICES: &'static [Choice];

    /// Its name, and what it means.
    fn choice(self) -> &'static Choice {
        let index = Self::ALL.iter().position(|&value| value == self);
        &Self::CHOICES[index.expect("every value is among all")]
    }

    /// Its name.
    fn name(self) -> &'static str {
        self.choice().name
    }

    /// The value of that name.
    fn of(name: &str) -> Option<Self> {
        let index = Self::CHOICES.iter().position(|choice| choice.name == name);
        index.map(|index| Self::ALL[index])
    }

    /// Every name, with commas between them.
    fn names() -> String {
        Self::CHOICES.iter().map(|choice| choice.name).collect::<Vec<_>>().join(", ")
    }
}

/// A value's name and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name.
    pub name: &'static str,
    /// What it means, in a line.
    pub doc: &'static str,
}

/// Declares an enum whose values have names: `Value = "name"`. What it is called in messages
/// stands behind the enum's own name. The documentation of a value is that of its name.
///
/// ```
/// outercore_storage::named! {
///     /// How ripe it is.
///     pub enum Ripeness: "ripeness" {
///         /// Best left alone.
///         Green = "green",
///         /// Good to eat.
///         Red = "red",
///     }
/// }
/// use outercore_storage::Named;
/// assert_eq!("red".parse(), Ok(Ripeness::Red));
/// assert_eq!(Ripeness::CHOICES[0].doc, "Best left alone.");
/// assert_eq!(
///     "blue".parse::<Ripeness>(),
///     Err("unknown ripeness \"blue\"; known: green, red".to_owned())
/// );
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$($about:tt)*])*
        pub enum $Enum:ident: $what:literal {
            $($(#[$($attribute:tt)*])* $Value:ident = $name:literal,)+
        }
    ) => {
        $(#[$($about)*])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Enum {
            $($(#[$($attribute)*])* $Value,)+
        }

        impl $crate::Named for $Enum {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$(Self::$Value),+];
            const CHOICES: &'static [$crate::Choice] = &[$($crate::Choice {
                name: $name,
                doc: concat!($($crate::named!(@doc $($attribute)*)),*).trim_ascii(),
            }),+];
        }

        impl $Enum {
            /// Its name, as users write it.
            pub fn name(self) -> &'static str {
                $crate::Named::name(self)
            }
        }

        impl std::str::FromStr for $Enum {
            type Err = String;

            fn from_str(name: &str) -> std::result::Result<Self, String> {
                <Self as $crate::Named>::of(name)
                    .ok_or_else(|| $crate::named::unknown::<Self>(name))
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl $crate::named::serde::Serialize for $Enum {
            fn serialize<S: $crate::named::serde::Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::named::serde::Deserialize<'de> for $Enum {
            fn deserialize<D: $crate::named::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                $crate::named::deserialize(deserializer)
            }
        }
    };
    (@doc doc = $text:literal) => { $text };
    (@doc $($other:tt)*) => { "" };
}

/// What [`named!`](crate::named!) writes out needs it.
#[doc(hidden)]
pub use serde;

/// What is said of a name that no value has.
#[doc(hidden)]
pub fn unknown<T: Named>(name: &str) -> String {
    format!("unknown {} {name:?}; known: {}", T::WHAT, T::names())
}

/// Reads a name where one is expected.
#[doc(hidden)]
pub fn deserialize<'de, T: Named, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
    T::of(&name).ok_or_else(|| serde::de::Error::custom(unknown::<T>(&name)))
}

#[cfg(test)]
mod tests {
    use crate::{HugePages, IoBackend, Named};

    #[test]
    fn names_lead_to_values_and_back() {
        fn both<T: Named + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned>() {
            assert_eq!(T::ALL.len(), T::CHOICES.len());
            for (&value, choice) in T::ALL.iter().zip(T::CHOICES) {
                assert_eq!((T::of(choice.name), value.name()), (Some(value), choice.name));
                assert!(choice.doc.ends_with('.') && !choice.doc.starts_with(' '));
                let json = serde_json::to_string(&value).unwrap();
                assert_eq!(json, format!("{:?}", choice.name));
                assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
            }
            assert!(serde_json::from_str::<T>("\"none of them\"").is_err());
        }
        both::<IoBackend>();
        both::<HugePages>();
        assert_eq!(format!("[{:<6}]", HugePages::On), "[on    ]");
    }
}
