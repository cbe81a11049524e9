// Protocol/records.md, "Kinds", "Types", "Fields": an independent copy, used by the judge only.

/// The type of a field, which determines its columns.
enum PlainType: String {
  case bool, integer, float, text, uuid, instant, dated, money, coordinate, owner, blob, bytes
  case reminders, schedule, frequency, weights, zones, any

  var columnCount: Int {
    switch self {
    case .dated, .blob: 3
    case .instant, .money, .coordinate, .owner: 2
    default: 1
    }
  }
}

/// A kind that has its own table.
struct PlainKind {
  struct Parent {
    let field: Int
    /// The kind of the parent; nil if the field itself names the kind.
    let kind: Int?
  }

  let number: Int
  let table: String
  let view: String?
  let parent: Parent?
  let fields: [(number: Int, type: PlainType, columns: [String])]
  let columns: [String]
  /// The SQL that reads one row: first the columns that all record tables have, then the kind's own columns.
  let select: String

  init(
    _ number: Int, _ table: String, view: String?, parent: Parent?,
    fields: [(number: Int, type: PlainType, columns: [String])]
  ) {
    self.number = number
    self.table = table
    self.view = view
    self.parent = parent
    self.fields = fields
    columns = fields.flatMap(\.columns)
    select =
      "SELECT \((["life", "stamps", "extra"] + columns).joined(separator: ", ")) FROM \(table) WHERE id = ?1"
  }
}

enum PlainKinds {
  static let none = PlainKey(kind: 5, id: Name16(high: 0x7761_796d_6172_6b00, low: 1))
  static let profile = PlainKey(kind: 4096, id: Name16(high: 0x7761_796d_6172_6b00, low: 2))

  /// Returns the lane to which a kind belongs; nil for an invalid number.
  static func lane(_ kind: UInt64) -> Int? {
    switch kind {
    case 1...8191: 1
    case 8192...12287: 0
    default: nil
    }
  }

  static func isWhole(_ kind: Int) -> Bool { (4096...8191).contains(kind) }

  /// Whether a cell is fixed, so that all writes to the cell are ignored.
  static func isFixed(_ key: PlainKey, _ field: Int) -> Bool { key == none && field <= 1 }

  static let all: [PlainKind] = [
    kind(1, "trip_rows", "trips", nil, trip),
    kind(2, "lodging_rows", "lodgings", .init(field: 1, kind: 1), lodging),
    kind(3, "transportation_rows", "transportations", .init(field: 1, kind: 1), transportation),
    kind(4, "activity_rows", "activities", .init(field: 1, kind: 1), lodging),
    kind(5, "organization_rows", "organizations", nil, organization),
    kind(6, "address_rows", "addresses", nil, address),
    kind(7, "attachment_rows", "attachments", .init(field: 1, kind: nil), attachment),
    kind(9, "habit_rows", "habits", nil, habit),
    kind(10, "habit_category_rows", "habit_categories", nil, category),
    kind(11, "habit_log_rows", "habit_logs", .init(field: 1, kind: 9), log),
    kind(12, "leg_rows", "legs", .init(field: 1, kind: 3), leg),
    kind(4096, "profile_rows", "profile", nil, profileFields),
    kind(8192, "setting_rows", "settings", nil, "1 text key;2 any value"),
  ]

  static let byNumber = Dictionary(uniqueKeysWithValues: all.map { ($0.number, $0) })

  /// Returns the kinds whose records may have a parent of this kind.
  static func children(of kind: Int) -> [PlainKind] {
    all.filter { child in
      guard let parent = child.parent else { return false }
      return parent.kind.map { $0 == kind } ?? (2...4).contains(kind)
    }
  }

  // MARK: Fields: number, type, columns

  private static let trip =
    "1 text name;2 text notes;3 integer created;4 integer start_date;5 integer end_date;6 bool is_protected;"
    + "7 text other_keys"
  private static let item =
    "1 uuid trip_id;2 text name;3 instant starts starts_zone;4 instant ends ends_zone;"
    + "5 money cost_amount cost_currency;6 text paid;7 text notes;8 uuid organization_id;"
  private static let lodging =
    item + "10 text reservation;11 text custom_location_name;12 bool hide_location;13 text other_keys;"
    + "14 uuid address_id"
  private static let transportation = item + "10 text confirmation;11 text type;12 text other_keys"
  private static let organization =
    "1 text name;2 text phone;3 text email;4 text website;5 text logo_url;6 text cached_logo_filename;"
    + "7 uuid address_id;8 text other_keys"
  private static let address =
    "1 text street;2 text city;3 text state;4 text country;5 text postal_code;"
    + "6 coordinate latitude longitude;7 text formatted_address;8 text other_keys"
  private static let attachment =
    "1 owner parent_kind parent_id;2 text file_name;3 text original_file_name;4 integer file_size;"
    + "5 text mime_type;6 text file_extension;7 integer created;8 text file_description;"
    + "9 blob file_data file_id file_bytes;10 text other_keys"
  private static let habit =
    "1 text name;2 text color;3 text emoji;4 text kind;5 text unit_label;6 float daily_target;"
    + "7 schedule schedule;8 reminders reminders;9 integer start_date;10 integer end_date;11 bool is_active;"
    + "12 integer display_order;13 text category_key;14 text suggestion_id;15 bool is_pinned;16 text notes;"
    + "17 integer last_completed;18 integer archived;19 integer priority_level;"
    + "20 coordinate latitude longitude;21 float radius;22 text trigger_type;23 frequency frequency;"
    + "24 bool is_location_enabled;25 text location_label;26 integer last_trigger;"
    + "27 integer last_entry_trigger;28 integer last_exit_trigger;29 text other_keys;"
    + "30 integer last_geofence_trigger"
  private static let category =
    "1 text key;2 text name;3 text display_name;4 text emoji;5 integer display_order;6 bool is_active;"
    + "7 bool is_predefined;8 weights personality_weights;9 text other_keys"
  private static let log = "1 uuid habit_id;2 dated date zone day;3 float value;4 text other_keys"
  private static let leg =
    "1 uuid transportation_id;2 integer sort_index;3 text type;4 instant departure departure_zone;"
    + "5 text departure_location_name;6 uuid departure_address_id;7 text departure_gate_or_platform;"
    + "8 text departure_terminal;9 instant arrival arrival_zone;10 text arrival_location_name;"
    + "11 uuid arrival_address_id;12 text arrival_gate_or_platform;13 text arrival_terminal;"
    + "14 uuid organization_id;15 text service_number;16 text confirmation;17 text seat_number;"
    + "18 text cabin_class;19 text seat_type;20 text boarding_group;21 text notes;22 text other_keys"
  private static let profileFields =
    "1 integer updated;2 text name;3 text appearance;4 text current_zone;5 text home_zone;"
    + "6 text display_zone_mode;7 zones zone_changes;8 integer created;9 blob avatar avatar_id avatar_bytes;"
    + "10 uuid profile_id;11 integer last_synced;12 text other_keys;13 text gender;14 text age_group"

  private static func kind(
    _ number: Int, _ table: String, _ view: String?, _ parent: PlainKind.Parent?, _ fields: String
  ) -> PlainKind {
    let list = fields.split(separator: ";").compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      return Int(words[0]).flatMap { number in
        PlainType(rawValue: words[1]).map { (number: number, type: $0, columns: Array(words[2...])) }
      }
    }
    return PlainKind(number, table, view: view, parent: parent, fields: list)
  }
}
