// Protocol/records.md, "Trips"

package import Replication
import Wire

extension Kind {
  package static let trip = Kind(
    1, "trip", plural: "trips", table: "trip_rows", view: "trips",
    count: CountName("trips", "trip", "trips"), order: [.tripStart, .ascending("name")],
    fields: [
      Field(1, "name", .text, ["name"], .text(1_000, isRequired: true)),
      Field(2, "notes", .text, ["notes"], .text(10_000)),
      Field(3, "createdDate", .timestamp, ["created"], initial: .now, isInternal: true),
      Field(4, "startDate", .timestamp, ["start_date"]),
      Field(5, "endDate", .timestamp, ["end_date"]),
      Field(6, "isProtected", .bool, ["is_protected"], initial: .value(.bool(false))), otherKeys(7),
    ],
    listing: KindListing(
      columns: [
        nameColumn, ListColumn("FROM", .day("startDate")), ListColumn("TO", .day("endDate")),
        ListColumn("ITEMS", isRight: true, .number("activities")),
        ListColumn("TOTAL", widthMin: 12, .sums("totals")),
      ],
      example: .init(
        "Rome", add: "name=Rome startDate=2026-05-02 endDate=2026-05-06", edit: "notes='Two bags'",
        list: "--upcoming", values: ["notes": "'Two bags'"])))

  package static let lodging = Kind(
    2, "lodging", plural: "lodgings", table: "lodging_rows", view: "lodgings", parent: 1,
    count: CountName("lodging", "lodging", "lodgings"), order: itemOrder, fields: itemFields + placeFields,
    listing: itemListing(
      .init(
        "'Casa Rosa'",
        add: "trip=Rome name='Casa Rosa' start=2026-05-03T15:00 startTZ=Europe/Rome",
        edit: "cost=120.50 currency=EUR",
        values: ["notes": "'Breakfast from 7'", "organization": "'Casa Rosa'"])))

  package static let transportation = Kind(
    3, "transportation", plural: "transportations", table: "transportation_rows",
    view: "transportations", parent: 1,
    count: CountName("transportation", "transportation", "transportations"), order: itemOrder,
    fields: itemFields + [
      Field(10, "confirmation", .text, ["confirmation"], .text(1_000)),
      Field(11, "type", .text, ["type"], means), otherKeys(12),
    ],
    listing: itemListing(
      .init(
        "'Night train'", add: "trip=Rome name='Night train' type=train", edit: "confirmation=X4T7",
        values: ["notes": "'Coach 7'", "organization": "Trenitalia"])))

  package static let activity = Kind(
    4, "activity", plural: "activities", table: "activity_rows", view: "activities", parent: 1,
    count: CountName("activities", "activity", "activities"), order: itemOrder,
    fields: itemFields + placeFields,
    listing: itemListing(
      .init(
        "Forum", add: "trip=Rome name=Forum start=2026-05-04T10:00 startTZ=Europe/Rome", edit: "notes=",
        values: ["notes": "'Bring water'", "organization": "'Musei di Roma'"])))

  package static let organization = Kind(
    5, "organization", plural: "organizations", table: "organization_rows", view: "organizations",
    count: CountName("organizations", "organization", "organizations"), order: [.ascending("name")],
    fields: [
      Field(FixedRecords.organizationName, "name", .text, ["name"], .text(1_000, isRequired: true)),
      Field(2, "phone", .text, ["phone"], .text(1_000)),
      Field(3, "email", .text, ["email"], .text(1_000)),
      Field(4, "website", .text, ["website"], .text(4_000)),
      Field(5, "logoURL", .text, ["logo_url"], .text(4_000)),
      Field(6, "cachedLogoFilename", .text, ["cached_logo_filename"], .text(1_000), isInternal: true),
      Field(7, "address", .reference(KindNumbers.address), ["address_id"]), otherKeys(8),
    ],
    listing: KindListing(
      columns: [
        nameColumn, ListColumn("PHONE", widthMin: 8, .first(["phone"])),
        ListColumn("WEBSITE", widthMin: 12, .first(["website"])),
      ],
      example: .init("Trenitalia", add: "name=Trenitalia", edit: "website=https://www.trenitalia.com")))

  package static let address = Kind(
    6, "address", plural: "addresses", table: "address_rows", view: "addresses",
    order: [.ascending("city")],
    fields: [
      Field(1, "street", .text, ["street"], .text(1_000)),
      Field(2, "city", .text, ["city"], .text(1_000)),
      Field(3, "state", .text, ["state"], .text(1_000)),
      Field(4, "country", .text, ["country"], .text(1_000)),
      Field(5, "postalCode", .text, ["postal_code"], .text(1_000)),
      Field(6, "location", .coordinate, ["latitude", "longitude"], parts: ["latitude", "longitude"]),
      Field(7, "formattedAddress", .text, ["formatted_address"], .text(4_000)), otherKeys(8),
    ])

  package static let attachment = Kind(
    7, "attachment", plural: "attachments", table: "attachment_rows", view: "attachments", parent: 1,
    order: [.ascending("createdDate"), .ascending("fileName")],
    fields: [
      Field(
        1, "parent", .owner, ["parent_kind", "parent_id"], parts: ["parentType", "parentId"], .required),
      Field(2, "fileName", .text, ["file_name"], .text(1_000, isRequired: true)),
      Field(3, "originalFileName", .text, ["original_file_name"], .text(1_000)),
      Field(4, "fileSize", .integer, ["file_size"], .integers(0...Int64.max), isInternal: true),
      Field(5, "mimeType", .text, ["mime_type"], .text(1_000), isInternal: true),
      Field(6, "fileExtension", .text, ["file_extension"], .text(1_000), isInternal: true),
      Field(7, "createdDate", .timestamp, ["created"], initial: .now, isInternal: true),
      Field(8, "fileDescription", .text, ["file_description"], .text(10_000)),
      Field(9, "fileData", .blob, ["file_data", "file_id", "file_bytes"]), otherKeys(10),
    ],
    listing: KindListing(
      title: .first(["originalFileName", "fileName"]),
      columns: [
        ListColumn("NAME", widthMin: 16, .first(["originalFileName", "fileName"])),
        ListColumn("TYPE", widthMin: 8, .first(["mimeType"])),
        ListColumn("SIZE", isRight: true, .bytes("fileSize")),
        ListColumn("WHERE", widthMin: 8, .file("fileData")),
        ListColumn("BELONGS TO", widthMin: 12, .first(["parentName"])),
      ],
      example: .init(
        "ticket.pdf", add: "lodging='Casa Rosa' file=ticket.pdf", edit: "fileDescription='Seat 12'",
        list: "--sort -fileSize")))

  /// The means of transport.
  static let means = Rule.words("train", "plane", "boat", "car", "bicycle", "walking")

  package static let itemName = Field(2, "name", .text, ["name"], .text(1_000, isRequired: true))
  package static let itemStart = Field(
    3, "start", .instant, ["starts", "starts_zone"], parts: ["start", "startTZId"],
    aliases: ["startTZ": "startTZId"])
  package static let itemEnd = Field(
    4, "end", .instant, ["ends", "ends_zone"], parts: ["end", "endTZId"], aliases: ["endTZ": "endTZId"])
  package static let itemCost = Field(
    5, "cost", .money, ["cost_amount", "cost_currency"], parts: ["cost", "currency"])

  /// The fields that lodging, transportation and activities share.
  private static let itemFields = [
    Field(1, "trip", .reference(KindNumbers.trip), ["trip_id"], .required),
    itemName, itemStart, itemEnd, itemCost,
    Field(
      6, "paid", .text, ["paid"], .words("infull", "deposit", "none"),
      initial: .value(.text("none"))),
    Field(7, "notes", .text, ["notes"], .text(10_000)),
    Field(
      8, "organizationId", .reference(FixedRecords.organization), ["organization_id"],
      aliases: ["organization": "organizationId"]),
  ]

  private static let placeFields = [
    Field(10, "reservation", .text, ["reservation"], .text(1_000)),
    Field(11, "customLocationName", .text, ["custom_location_name"], .text(1_000)),
    Field(12, "hideLocation", .bool, ["hide_location"], initial: .value(.bool(false))), otherKeys(13),
    Field(14, "address", .reference(KindNumbers.address), ["address_id"]),
  ]

  /// The keys of an imported row that Waymark does not know, as the text of a JSON object. An export in the same format
  /// writes them back.
  static func otherKeys(_ number: FieldNumber) -> Field {
    Field(number, "otherKeys", .text, ["other_keys"], .text(Limits.otherKeysBytesMax), isInternal: true)
  }

  private static let itemOrder: [ListOrder] = [.ascending("start"), .ascending("name")]

  private static func itemListing(_ example: KindListing.Example) -> KindListing {
    KindListing(
      columns: [
        nameColumn, ListColumn("TRIP", widthMin: 8, .first(["tripName"])),
        ListColumn("START", .minute("start")), ListColumn("END", .end("end", start: "start")),
        ListColumn("COST", isRight: true, .money("cost")),
      ], example: example)
  }

  /// The first column of most lists.
  static let nameColumn = ListColumn("NAME", widthMin: 12, .first(["name"]))
}

/// The numbers of the kinds to which fields of other kinds, or other code, refer.
package enum KindNumbers {
  package static let trip = known(1)
  package static let lodging = known(2)
  package static let transportation = known(3)
  package static let activity = known(4)
  package static let address = known(6)
  package static let attachment = known(7)
  package static let habit = known(9)
  package static let category = known(10)
  package static let habitEntry = known(11)
  package static let leg = known(12)
  package static let setting = known(8_192)

  static func known(_ number: UInt64) -> KindNumber {
    guard let kind = KindNumber(number) else { preconditionFailure("kind number \(number) is in no range") }
    return kind
  }
}
