//! Settings: what a user asks for, each thing by its name, each of them optional.
//!
//! [`settings!`](crate::settings!) declares a struct of them. The command line makes its options of
//! [`Settings::SWITCHES`] and Python its keyword arguments, so that a switch is named, parsed and
//! documented in one place.

use crate::{
    named::{Choice, Named},
    size::{Bytes, Size},
};

/// One thing that can be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Its name on the command line, without dashes: `max-gap`. Python has `max_gap`.
    pub name: &'static str,
    /// What stands for its value in help texts: `SIZE`.
    pub value: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What it is when it is not asked for; empty if there is nothing to say.
    pub default: &'static str,
    /// The values that it can have, if they have names.
    pub choices: &'static [Choice],
    /// What its value looks like.
    pub kind: Kind,
    /// Whether a text is a value of it; the error says why not.
    pub check: fn(&str) -> Result<(), String>,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of several names.
    Name,
    /// A number of bytes, perhaps with a unit, perhaps a percentage.
    Size,
    /// A number.
    Number,
    /// `on` or `off`.
    OnOff,
    /// None: to name the switch is to turn it on.
    Flag,
    /// Several values, with commas between them.
    Several,
    /// Anything else.
    Text,
}

/// What the value of a switch can be.
pub trait Value: Sized {
    /// What it looks like.
    const KIND: Kind;
    /// What it can be, if that has names.
    const CHOICES: &'static [Choice] = &[];

    /// The value of a text, or what is wrong with it; `switch` is whose value it is.
    fn parse(switch: &str, text: &str) -> Result<Self, String>;
}

impl<T: Named> Value for T {
    const KIND: Kind = Kind::Name;
    const CHOICES: &'static [Choice] = T::CHOICES;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        T::of(text)
            .ok_or_else(|| format!("{switch} cannot be {text:?}; it is one of {}", T::names()))
    }
}

impl Value for bool {
    const KIND: Kind = Kind::OnOff;
    const CHOICES: &'static [Choice] =
        &[Choice { name: "on", doc: "Yes." }, Choice { name: "off", doc: "No." }];

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("{switch} cannot be {text:?}; it is one of on, off")),
        }
    }
}

impl Value for String {
    const KIND: Kind = Kind::Text;

    fn parse(_: &str, text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl Value for Size {
    const KIND: Kind = Kind::Size;

    fn parse(_: &str, text: &str) -> Result<Self, String> {
        text.parse()
    }
}

impl Value for Bytes {
    const KIND: Kind = Kind::Size;

    fn parse(_: &str, text: &str) -> Result<Self, String> {
        text.parse()
    }
}

impl Value for u64 {
    const KIND: Kind = Kind::Number;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("{switch} cannot be {text:?}; it is a whole number"))
    }
}

impl Value for usize {
    const KIND: Kind = Kind::Number;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("{switch} cannot be {text:?}; it is a whole number"))
    }
}

impl Value for f64 {
    const KIND: Kind = Kind::Number;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("{switch} cannot be {text:?}; it is a number"))
    }
}

/// A number of threads: 1 to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(pub usize);

impl Value for Threads {
    const KIND: Kind = Kind::Number;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
        number.map(Threads).ok_or_else(|| format!("{switch} cannot be {text}; it is 1 to 1024"))
    }
}

/// Requests in flight: 1 to 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth(pub usize);

impl Value for Depth {
    const KIND: Kind = Kind::Number;

    fn parse(switch: &str, text: &str) -> Result<Self, String> {
        let number = text.parse().ok().filter(|number| (1..=4096).contains(number));
        number.map(Depth).ok_or_else(|| format!("{switch} cannot be {text}; it is 1 to 4096"))
    }
}

/// A setting: a value that may or may not be asked for.
pub trait Setting: Default {
    /// What its value looks like.
    const KIND: Kind;
    /// What it can be, if that has names.
    const CHOICES: &'static [Choice] = &[];

    /// Asks for it; `switch` is its name, for the error.
    fn set(&mut self, switch: &str, text: &str) -> Result<(), String>;
    /// Whether it was asked for.
    fn is_set(&self) -> bool;
}

impl<T: Value> Setting for Option<T> {
    const KIND: Kind = T::KIND;
    const CHOICES: &'static [Choice] = T::CHOICES;

    fn set(&mut self, switch: &str, text: &str) -> Result<(), String> {
        *self = Some(T::parse(switch, text)?);
        Ok(())
    }

    fn is_set(&self) -> bool {
        self.is_some()
    }
}

impl<T: Value> Setting for Vec<T> {
    const KIND: Kind = Kind::Several;

    fn set(&mut self, switch: &str, text: &str) -> Result<(), String> {
        *self = parts(text).map(|part| T::parse(switch, part)).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn is_set(&self) -> bool {
        !self.is_empty()
    }
}

impl Setting for bool {
    const KIND: Kind = Kind::Flag;

    fn set(&mut self, switch: &str, text: &str) -> Result<(), String> {
        *self = Value::parse(switch, text)?;
        Ok(())
    }

    fn is_set(&self) -> bool {
        *self
    }
}

/// The parts between commas. Commas in a part that begins with a quotation mark do not count up to
/// the mark that closes it; marks are left where they are.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let (mut begins, mut quoted, mut inside) = (true, false, false);
    text.split(move |letter| {
        if begins {
            quoted = letter == '"';
            inside = quoted;
        } else if quoted && letter == '"' {
            inside = !inside;
        }
        begins = letter == ',' && !inside;
        begins
    })
}

/// A struct of settings.
pub trait Settings: Clone + Default {
    /// What can be asked for.
    const SWITCHES: &'static [Switch];

    /// Asks for one thing. The error says what is wrong with the value; `None`: there is no such
    /// switch.
    fn set(&mut self, switch: &str, text: &str) -> Option<Result<(), String>>;
    /// The switches that were asked for.
    fn asked(&self) -> Vec<&'static str>;
}

/// Declares a struct of settings: `Option`s, `bool`s that are off unless named, and `Vec`s. The
/// documentation of a field is that of its switch. Behind the type stand the switch's name, what
/// stands for its value in help texts, and what it is when it is not asked for.
///
/// ```
/// outercore_storage::settings! {
///     /// How to boil an egg.
///     pub struct Boiling {
///         /// How long.
///         minutes: Option<u64> = ("minutes", "N", "4"),
///         /// With the lid on.
///         covered: bool = ("covered", "", ""),
///     }
/// }
/// use outercore_storage::Settings;
/// let mut boiling = Boiling::default();
/// assert_eq!(boiling.set("minutes", "7"), Some(Ok(())));
/// assert_eq!((boiling.minutes, boiling.covered), (Some(7), false));
/// assert_eq!(boiling.asked(), ["minutes"]);
/// assert!(boiling.set("minutes", "long").unwrap().is_err());
/// assert_eq!(boiling.set("salt", "much"), None);
/// assert_eq!(Boiling::SWITCHES[0].doc, "How long.");
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[$($about:tt)*])*
        pub struct $Struct:ident {
            $($(#[doc = $doc:literal])+
            $field:ident: $Type:ty = ($name:literal, $value:literal, $default:literal),)+
        }
    ) => {
        $(#[$($about)*])*
        #[derive(Clone, Debug, Default)]
        pub struct $Struct {
            $($(#[doc = $doc])+ pub $field: $Type,)+
        }

        impl $crate::Settings for $Struct {
            const SWITCHES: &'static [$crate::settings::Switch] = &[$(
                $crate::settings::Switch {
                    name: $name,
                    value: $value,
                    doc: concat!($($doc),+).trim_ascii(),
                    default: $default,
                    choices: <$Type as $crate::settings::Setting>::CHOICES,
                    kind: <$Type as $crate::settings::Setting>::KIND,
                    check: |text| {
                        let mut setting = <$Type>::default();
                        $crate::settings::Setting::set(&mut setting, $name, text)
                    },
                },
            )+];

            fn set(
                &mut self,
                switch: &str,
                text: &str,
            ) -> Option<std::result::Result<(), String>> {
                match switch {
                    $($name => {
                        Some($crate::settings::Setting::set(&mut self.$field, $name, text))
                    })+
                    _ => None,
                }
            }

            fn asked(&self) -> Vec<&'static str> {
                let all = [$(($name, $crate::settings::Setting::is_set(&self.$field))),+];
                all.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name).collect()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotation_marks_do_not_separate() {
        let all = |text| parts(text).collect::<Vec<_>>();
        assert_eq!(all("1,2,3"), ["1", "2", "3"]);
        assert_eq!(all(""), [""]);
        assert_eq!(all("a,"), ["a", ""]);
        assert_eq!(all(r#""a,b",c"#), [r#""a,b""#, "c"]);
        assert_eq!(all(r#""a"",""b",c"d,e""#), [r#""a"",""b""#, r#"c"d"#, r#"e""#]);
        assert_eq!(all(r#""open,c"#), [r#""open,c"#]);
    }
}
