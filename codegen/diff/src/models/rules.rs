//! The rules, as data: `rules/schemas.toml`, `lists.toml` and `trust.toml` give the meaning of each, its verdicts, an
//! example, and what a comparison finds in the example.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::LazyLock;

use mcpgen_schema::json::Json;
use serde::Deserialize;
use strum::VariantArray;

use crate::models::verdict::{Axis, Bump, ListVerdicts, Verdict};

/// A kind of difference. Its name in reports is in kebab case: [`Rule::id`].
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[expect(missing_docs, reason = "`rules/*.toml` has their meanings")]
pub enum Rule {
    // Rules for schemas.
    RequestAdded,
    RequestRemoved,
    RequestMoved,
    RequestEmbedded,
    RequestUnembedded,
    NotificationAdded,
    NotificationRemoved,
    NotificationMoved,
    ResultTypeChanged,
    TaskResultAdded,
    TaskResultRemoved,
    TypeAdded,
    TypeRemoved,
    TypeRenamed,
    TypeRenamedInUse,
    RustNameChanged,
    MemberAddedOptional,
    MemberAddedRequired,
    MemberRemovedOptional,
    MemberRemovedRequired,
    MemberBecameRequired,
    MemberBecameOptional,
    MemberRefusedByOld,
    MemberRefusedByNew,
    EnvelopeStated,
    EnvelopeUnstated,
    TypeChanged,
    TypeWidened,
    TypeNarrowed,
    NullAllowed,
    NullForbidden,
    ConstantChanged,
    EnumValueAdded,
    EnumValueRemoved,
    KnownValueAdded,
    KnownValueRemoved,
    ValuesOpened,
    ValuesClosed,
    LimitAdded,
    LimitRemoved,
    LimitLoosened,
    LimitTightened,
    LimitShifted,
    CheckAdded,
    CheckRemoved,
    CheckChanged,
    DefaultChanged,
    UnionVariantAdded,
    UnionVariantRemoved,
    UnionRedecidedByNew,
    UnionRedecidedByOld,
    ObjectClosed,
    ObjectOpened,
    ErrorCodeAdded,
    ErrorCodeRemoved,
    Deprecated,
    Undeprecated,
    DocumentationChanged,
    FixupDiffers,
    // Rules for the lists of a server.
    ToolAdded,
    ToolRemoved,
    ToolRenamed,
    ToolBecameDestructive,
    ToolBecameWriting,
    ToolBecameNonIdempotent,
    ToolBecameOpenWorld,
    ToolBecameSafer,
    ToolRequiresTask,
    ToolRefusesTask,
    ToolAllowsTask,
    ArgumentAddedRequired,
    ArgumentAddedOptional,
    ArgumentRemoved,
    ArgumentRefused,
    ArgumentBecameRequired,
    ArgumentBecameOptional,
    ArgumentValueAdded,
    ArgumentValueRemoved,
    ArgumentDefaultChanged,
    ArgumentDescriptionChanged,
    ResultSchemaAdded,
    ResultSchemaRemoved,
    ResultDescriptionChanged,
    FormatChanged,
    SchemaRewritten,
    SchemaNotCompared,
    TitleChanged,
    DescriptionChanged,
    MetadataChanged,
    ResourceAdded,
    ResourceRemoved,
    ResourceTypeChanged,
    ResourceTemplateAdded,
    ResourceTemplateRemoved,
    PromptAdded,
    PromptRemoved,
    // Rules about trust in a server.
    TextGainedHiddenCharacters,
    TextGainedInstructions,
    PermissionGained,
    PermissionChanged,
    SecretRequired,
}

/// The verdicts of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum RuleVerdicts {
    /// Verdicts on a change in a schema.
    Schemas(SchemaVerdicts),
    /// Verdicts on a change in a server's lists.
    Lists(ListVerdicts),
    /// A verdict on a change in what a server may do, which does not concern callers.
    Trust {
        /// The verdict for someone who permitted the use of the old lists.
        trust: Verdict,
    },
}

/// The verdicts on a change in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaVerdicts {
    /// The verdict on a message from an old sender to a new reader.
    pub old_to_new: Verdict,
    /// The verdict on a message from a new sender to an old reader.
    pub new_to_old: Verdict,
    /// The version bump for crates that use the generated types.
    pub rust_api: Bump,
}

/// What users of an old schema or list have to do after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Send something that is now required.
    Send,
    /// Stop sending something that is no longer accepted.
    StopSending,
    /// Replace something that was removed.
    Replace,
    /// Use another name.
    Rename,
    /// Adapt to another type or meaning.
    Adapt,
    /// Handle something that may now be received.
    Handle,
    /// Check whether the change matters.
    Review,
    /// Plan for a removal.
    Plan,
    /// Nothing has to be done, but something new can be used.
    Use,
    /// Nothing has to be done.
    None,
}

/// An entry of `rules/*.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleRow {
    meaning: String,
    action: Action,
    verdicts: RuleVerdicts,
    #[serde(default)]
    replaces: Vec<Rule>,
    old: String,
    new: String,
    finds: String,
}

static TABLE: LazyLock<BTreeMap<Rule, RuleRow>> = LazyLock::new(|| {
    let tables = [
        include_str!("../../rules/schemas.toml"),
        include_str!("../../rules/lists.toml"),
        include_str!("../../rules/trust.toml"),
    ];
    let rows = tables.map(|table| toml::from_str::<BTreeMap<Rule, RuleRow>>(table).expect("a test reads the tables"));
    rows.into_iter().flatten().collect()
});

impl Rule {
    /// All rules, in the order of `mcpgen explain`.
    pub const ALL: &[Rule] = Rule::VARIANTS;

    /// Returns the rule with this name.
    pub fn find(id: &str) -> Option<Rule> {
        Rule::from_str(id).ok()
    }

    /// Returns the rule's name in kebab case, which is stable: policies and baselines contain it.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// Explains the difference and its verdicts, in one or two sentences.
    pub fn meaning(self) -> &'static str {
        &self.row().meaning
    }

    /// Returns what users of the old schema or list have to do.
    pub fn action(self) -> Action {
        self.row().action
    }

    /// Returns the verdicts. For a finding, they hold only if its evidence confirms them.
    pub fn verdicts(self) -> RuleVerdicts {
        self.row().verdicts
    }

    /// Returns an example of the rule: the definitions of two schemas, or two lists of tools, the old before the new.
    pub fn example(self) -> [Json; 2] {
        let RuleRow { old, new, .. } = self.row();
        [old, new].map(|text| Json::parse(text).expect("a test reads the tables"))
    }

    /// Describes the findings in the example, in the format that the tests use.
    pub fn finds(self) -> &'static str {
        &self.row().finds
    }

    /// Returns the rule's worst verdict on messages or calls, or on trust if it concerns nothing else.
    pub fn worst(self) -> Verdict {
        match self.verdicts() {
            RuleVerdicts::Schemas(SchemaVerdicts { old_to_new, new_to_old, .. }) => old_to_new.max(new_to_old),
            RuleVerdicts::Lists(it) => it.remembered_list.max(it.stored_workflow),
            RuleVerdicts::Trust { trust } => trust,
        }
    }

    /// Returns whether findings by the rule concern one of these axes.
    pub fn concerns(self, axes: &[Axis]) -> bool {
        let on_trust = self.on_lists().is_some_and(|it| it.trust > Verdict::Compatible);
        let is_only_trust = matches!(self.verdicts(), RuleVerdicts::Trust { .. });
        axes.iter().any(|axis| if *axis == Axis::Trust { on_trust } else { !is_only_trust })
    }

    /// Returns whether this is a rule for the lists of a server.
    pub fn is_of_lists(self) -> bool {
        self.on_lists().is_some()
    }

    /// Returns the verdicts on documents from old to new, and from new to old.
    pub fn both_ways(self) -> [Verdict; 2] {
        match self.verdicts() {
            RuleVerdicts::Schemas(SchemaVerdicts { old_to_new, new_to_old, .. }) => [old_to_new, new_to_old],
            _ => [Verdict::Compatible; 2],
        }
    }

    pub(super) fn rust_api(self) -> Bump {
        match self.verdicts() {
            RuleVerdicts::Schemas(SchemaVerdicts { rust_api, .. }) => rust_api,
            _ => Bump::Patch,
        }
    }

    /// Returns the verdicts on lists, if this is a rule for lists.
    pub(crate) fn on_lists(self) -> Option<ListVerdicts> {
        match self.verdicts() {
            RuleVerdicts::Schemas(_) => None,
            RuleVerdicts::Lists(lists) => Some(lists),
            RuleVerdicts::Trust { trust } => Some(ListVerdicts { trust, ..ListVerdicts::default() }),
        }
    }

    /// Returns the rule that replaces this one for the arguments of tools, or this one if there is none.
    pub(crate) fn of_arguments(self) -> Rule {
        TABLE.iter().find(|(_, row)| row.replaces.contains(&self)).map_or(self, |(rule, _)| *rule)
    }

    fn row(self) -> &'static RuleRow {
        &TABLE[&self]
    }
}

/// The former names of rules, with their successors. Policies and baselines may still use these names.
#[cfg(feature = "report")]
pub(crate) const RETIRED: [(&str, Rule); 2] =
    [("incomparable", Rule::CheckChanged), ("document-refused", Rule::CheckChanged)];
