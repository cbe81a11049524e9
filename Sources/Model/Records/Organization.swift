import Records
import Replication
import Storage

/// A provider of lodging, transportation or activities.
///
/// The organization None, which has the id ``noneID``, means "no organization". It exists exactly once, comes first in
/// every list, and can't be renamed or deleted. An organization that items refer to is deleted only if the deletion is
/// forced; the organization of these items then becomes None.
public struct Organization: Record {
  public let id: ID
  /// The name of the organization: at most 1,000 characters, never empty, and `None` only for ``noneID``.
  public var name = ""
  /// The phone number.
  public var phone = ""
  /// The email address.
  public var email = ""
  /// The URL of the organization's website.
  public var website = ""
  /// The URL of the organization's logo.
  public var logoURL = ""
  /// The name of the file in which the app caches the logo.
  public var cachedLogoFilename = ""
  /// The id of the organization's ``Address``, which is a separate record; nil if there is none.
  public var addressID: Address.ID?
  public var origin = RecordOrigin()

  public init(id: ID) { self.id = id }

  /// Creates a new organization.
  public init(name: String, addressID: Address.ID? = nil, id: ID = .new()) {
    self.id = id
    self.name = name
    self.addressID = addressID
  }

  /// The id of the organization that means "no organization". It is the same for all users, on all devices.
  public static let noneID = Organization.ID(FixedRecords.none.id)

  public static let fields = RecordFields<Organization>(
    Kind.organization, id: \.id,
    [
      .text("name", \.name), .text("phone", \.phone), .text("email", \.email), .text("website", \.website),
      .text("logoURL", \.logoURL), .text("cachedLogoFilename", \.cachedLogoFilename),
      .field("address", \.addressID),
    ])
}

/// The address of an organization, a place to stay or an activity.
public struct Address: Record {
  public let id: ID
  /// The street and house number.
  public var street = ""
  /// The city, town or village.
  public var city = ""
  /// The state, province or region.
  public var state = ""
  /// The country, as written in an address.
  public var country = ""
  /// The postal code.
  public var postalCode = ""
  /// The coordinates of the address; nil if they are not known.
  public var location: Coordinate?
  /// The whole address, in the form in which addresses are written in its country.
  public var formattedAddress = ""
  public var origin = RecordOrigin()

  public init(id: ID = .new()) { self.id = id }

  public static let fields = RecordFields<Address>(
    Kind.address, id: \.id,
    [
      .text("street", \.street), .text("city", \.city), .text("state", \.state), .text("country", \.country),
      .text("postalCode", \.postalCode), .field("location", \.location),
      .text("formattedAddress", \.formattedAddress),
    ])
}
