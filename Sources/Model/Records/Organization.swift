public import Foundation
import Records
import Replication
import Storage

/// A provider of lodging, transportation or activities.
///
/// ``none`` means "no organization": it exists exactly once, comes first in every list, and can't be renamed or
/// deleted. An organization in use is deleted only with force; the items that refer to it then read as None.
public struct Organization: Record {
  public let id: UUID
  /// At most 1,000 characters; never empty, and never `None`.
  public var name = ""
  /// The phone number.
  public var phone = ""
  /// The email address.
  public var email = ""
  /// The URL of its website.
  public var website = ""
  /// The URL of its logo.
  public var logoURL = ""
  /// The file in which the app caches the logo.
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

  /// The id of the organization that means "no organization", the same on all devices of all users.
  public static let none = UUID(Registry.noneID)

  public static let fields = RecordFields<Organization>(
    Registry.organization, id: \.id,
    [
      .text("name", \.name), .text("phone", \.phone), .text("email", \.email), .text("website", \.website),
      .text("logoURL", \.logoURL), .text("cachedLogoFilename", \.cachedLogoFilename),
      .field("address", \.addressID),
    ])
}

/// The address of an organization.
public struct Address: Record {
  public let id: UUID
  /// Street and number.
  public var street = ""
  /// City, town or village.
  public var city = ""
  /// State, province or region.
  public var state = ""
  /// The country, as written in an address.
  public var country = ""
  /// The postal code.
  public var postalCode = ""
  /// The coordinates.
  public var location: Coordinate?
  /// The whole address as written in its country.
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
