// Protocol/records.md, "Kinds" and "Fields"

import Replication
import Wire

extension Kind {
  /// A part of a journey, without a change. The fields are named as Traveling Snails names them.
  package static let leg = Kind(
    12, "leg", plural: "legs", table: "leg_rows", view: "legs", parent: 1, title: serviceNumber.number,
    order: [.ascending("sortIndex"), .ascending("departure")],
    fields: [
      Field(
        1, "transportationID", .reference(KindNumbers.transportation), ["transportation_id"],
        aliases: ["transportation": "transportationID"], .required),
      Field(2, "sortIndex", .integer, ["sort_index"], .integers(0...100_000)),
      Field(3, "type", .text, ["type"], means),
      legDeparture,
      text(5, "departureLocationName", "departure_location_name", "from"),
      Field(6, "departureAddressID", .reference(KindNumbers.address), ["departure_address_id"]),
      text(7, "departureGateOrPlatform", "departure_gate_or_platform", "departureGate"),
      Field(8, "departureTerminal", .text, ["departure_terminal"], .text(1_000)),
      legArrival,
      text(10, "arrivalLocationName", "arrival_location_name", "to"),
      Field(11, "arrivalAddressID", .reference(KindNumbers.address), ["arrival_address_id"]),
      text(12, "arrivalGateOrPlatform", "arrival_gate_or_platform", "arrivalGate"),
      Field(13, "arrivalTerminal", .text, ["arrival_terminal"], .text(1_000)),
      Field(
        14, "organizationId", .reference(FixedRecords.organization), ["organization_id"],
        aliases: ["organization": "organizationId"]),
      serviceNumber,
      Field(16, "confirmation", .text, ["confirmation"], .text(1_000)),
      text(17, "seatNumber", "seat_number", "seat"),
      Field(18, "cabinClass", .text, ["cabin_class"], .text(1_000)),
      Field(19, "seatType", .text, ["seat_type"], .text(1_000)),
      Field(20, "boardingGroup", .text, ["boarding_group"], .text(1_000)),
      Field(21, "notes", .text, ["notes"], .text(10_000)), otherKeys(22),
    ],
    listing: KindListing(
      title: .first(["serviceNumber"]),
      columns: [
        ListColumn("SERVICE", widthMin: 8, .first(["serviceNumber"])),
        ListColumn("FROM", widthMin: 8, .first(["departureLocationName"])),
        ListColumn("TO", widthMin: 8, .first(["arrivalLocationName"])),
        ListColumn("DEPARTURE", .minute("departure")),
        ListColumn("ARRIVAL", .end("arrival", start: "departure")),
        ListColumn("SEAT", .first(["seatNumber"])),
        ListColumn("JOURNEY", widthMin: 8, .first(["transportationName"])),
      ],
      example: .init(
        "'NT 40462'", add: "transportation='Night train' serviceNumber='NT 40462' from=Rome to=Milan",
        edit: "seat=31", list: "--transportation 'Night train'", values: legValues)))

  private static let legValues = [
    "transportation": "'Night train'", "from": "Rome", "to": "Milan", "departureGate": "7",
    "departureTerminal": "T1", "arrivalGate": "12", "arrivalTerminal": "T2",
    "organization": "Trenitalia", "serviceNumber": "'NT 40462'", "seat": "31", "cabinClass": "first",
    "seatType": "window", "boardingGroup": "B", "notes": "'Change in Milan'",
  ]

  private static let serviceNumber = Field(15, "serviceNumber", .text, ["service_number"], .text(1_000))
  private static let legDeparture = Field(
    4, "departure", .instant, ["departure", "departure_zone"], parts: ["departure", "departureTZId"],
    aliases: ["departureTZ": "departureTZId"])
  private static let legArrival = Field(
    9, "arrival", .instant, ["arrival", "arrival_zone"], parts: ["arrival", "arrivalTZId"],
    aliases: ["arrivalTZ": "arrivalTZId"])

  /// Returns a text with a shorter name for the command line.
  private static func text(_ number: FieldNumber, _ name: String, _ column: String, _ alias: String) -> Field
  {
    Field(number, name, .text, [column], aliases: [alias: name], .text(1_000))
  }
}
