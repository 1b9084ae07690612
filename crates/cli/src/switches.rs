//! The libraries' settings as options of the command line: their names, what they can be and their
//! documentation are the libraries'.

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser},
    error::ErrorKind,
};
use outercore::{
    Choice, Named, Settings,
    settings::{Kind, Switch},
};

/// Settings, as options.
#[derive(Clone)]
pub struct Switches<S>(pub S);

impl<S: Settings> Args for Switches<S> {
    fn augment_args(command: Command) -> Command {
        command.args(S::SWITCHES.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Settings> FromArgMatches for Switches<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut switches = Self(S::default());
        switches.update_from_arg_matches(matches)?;
        Ok(switches)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for switch in S::SWITCHES {
            let given = match switch.kind {
                Kind::Flag => matches.get_flag(switch.name).then_some("on"),
                _ => matches.get_one::<String>(switch.name).map(String::as_str),
            };
            if let Some(Err(error)) = given.and_then(|text| self.0.set(switch.name, text)) {
                return Err(Error::raw(ErrorKind::ValueValidation, error));
            }
        }
        Ok(())
    }
}

/// The option of a switch.
fn option(switch: &'static Switch) -> Arg {
    let arg = Arg::new(switch.name).long(switch.name).help(help(switch));
    if switch.kind == Kind::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    // An id may begin with a dash. A number below zero is told to be out of range, not unknown.
    let arg = arg
        .value_name(switch.value)
        .action(ArgAction::Set)
        .allow_negative_numbers(true)
        .allow_hyphen_values(switch.value.starts_with("ID"));
    if switch.choices.is_empty() {
        arg.value_parser(|text: &str| (switch.check)(text).map(|()| text.to_owned()))
    } else {
        arg.value_parser(PossibleValuesParser::new(switch.choices.iter().map(possible)))
    }
}

fn help(switch: &Switch) -> String {
    let doc = switch.doc.trim_end_matches('.');
    match switch.default {
        "" => doc.to_owned(),
        default => format!("{doc} [default: {default}]"),
    }
}

fn possible(choice: &Choice) -> PossibleValue {
    PossibleValue::new(choice.name).help(choice.doc.trim_end_matches('.'))
}

/// Takes the names of an enum's values.
pub fn named<T: Named + Send + Sync>() -> ValueParser {
    let names = PossibleValuesParser::new(T::CHOICES.iter().map(possible));
    names.map(|name| T::of(&name).expect("it is one of the names")).into()
}
