public import Foundation
import Records
import Replication
import Storage

/// Who provides lodging, transportation or activities.
///
/// ``none`` stands for "no organization": it exists exactly once, comes first in every list, and can't be renamed or
/// deleted. An organization in use is deleted only by force; then those who used it read as None.
public struct Organization: Record {
  public let id: UUID
  /// At most 1,000 characters; never empty, and never `None`.
  public var name = ""
  /// As one dials it.
  public var phone = ""
  /// Its mail address.
  public var email = ""
  /// Its address on the web.
  public var website = ""
  /// Where its picture is on the web.
  public var logoURL = ""
  /// The file in which the app keeps that picture.
  public var cachedLogoFilename = ""
  /// Its ``Address``, a record of its own.
  public var addressID: UUID?
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  /// A new organization.
  public init(name: String, addressID: Address.ID? = nil, id: UUID = .record()) {
    self.id = id
    self.name = name
    self.addressID = addressID
  }

  /// The id of the organization that stands for "no organization", the same on all devices of all people.
  public static let none = UUID(Registry.noneID)

  public static let fields = RecordFields<Organization>(
    Registry.organization, id: \.id,
    [
      .text("name", \.name), .text("phone", \.phone), .text("email", \.email), .text("website", \.website),
      .text("logoURL", \.logoURL), .text("cachedLogoFilename", \.cachedLogoFilename),
      .field("address", \.addressID),
    ])
}

/// Where an organization is.
public struct Address: Record {
  public let id: UUID
  /// Street and number.
  public var street = ""
  /// City, town or village.
  public var city = ""
  /// State, province or region.
  public var state = ""
  /// As one writes it.
  public var country = ""
  /// As one writes it there.
  public var postalCode = ""
  /// Where it is on the globe.
  public var location: Coordinate?
  /// The whole address as one writes it there.
  public var formattedAddress = ""
  public var origin = RecordOrigin()

  public init(id: UUID = .record()) { self.id = id }

  public static let fields = RecordFields<Address>(
    Registry.address, id: \.id,
    [
      .text("street", \.street), .text("city", \.city), .text("state", \.state), .text("country", \.country),
      .text("postalCode", \.postalCode), .field("location", \.location),
      .text("formattedAddress", \.formattedAddress),
    ])
}
