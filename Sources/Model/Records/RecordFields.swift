import Platform
import Records
import Replication
import Storage
import Synchronization
import Wire

/// Maps the properties of a record to fields in the store, and defines the kind of an app's own records.
///
/// ```swift
/// static let fields = RecordFields<PackingItem>(
///   2417, "packing-item", plural: "packing-items", id: \.id, parent: \.tripID, title: \.name,
///   [.reference(1, "trip", \.tripID), .text(2, "name", \.name, isRequired: true),
///    .flag(3, "isPacked", \.isPacked)])
/// ```
///
/// The number and names of a kind, and the number, name and type of each field, are permanent, because other devices have
/// stored them. A kind can get more fields later. Properties that are not among the fields are not stored.
public struct RecordFields<Owner: Record>: Sendable {
  let all: [RecordField<Owner>]
  private let id: any KeyPath<Owner, Owner.ID> & Sendable
  private let definition: Definition

  /// Where the kind comes from.
  private enum Definition: Sendable {
    case builtIn(Kind)
    /// A kind of an app. It is created lazily, because kinds can refer to one another.
    case app(KindNumber, LazyKind)
  }

  init(_ kind: Kind, id: any KeyPath<Owner, Owner.ID> & Sendable, _ fields: [RecordField<Owner>]) {
    definition = .builtIn(kind)
    self.id = id
    all = fields.map { field in
      var field = field
      field.number = kind.number(field.name)
      return field
    }
  }

  /// Defines a kind of records.
  ///
  /// - Parameters:
  ///   - number: the number of the kind, from 2,048 to 4,095. Choose one at random, so that no other app uses it.
  ///   - name: the singular name: lower-case words joined by hyphens, at least two, as in `packing-item`.
  ///   - plural: the plural name, of the same form.
  ///   - id: the property that holds the id.
  ///   - parent: the reference to the record that a record belongs to and is hidden with; nil if there is none.
  ///   - title: the text that names a record in lists and messages; nil if there is none.
  ///   - order: the properties by which lists are sorted, in ascending order.
  ///   - fields: the fields, each with a number of its own.
  public init(
    _ number: Int, _ name: String, plural: String, id: any KeyPath<Owner, Owner.ID> & Sendable,
    parent: PartialKeyPath<Owner>? = nil,
    title: PartialKeyPath<Owner>? = nil,
    order: [PartialKeyPath<Owner>] = [], _ fields: [RecordField<Owner>]
  ) {
    self.id = id
    all = fields
    func field(_ path: PartialKeyPath<Owner>) -> FieldNumber {
      let found = fields.first { $0.parts.contains { $0.path == path && $0.isComparable } }
      guard let found else {
        preconditionFailure("\(path) of \(name) can't be used here: it is not a single field of its kind")
      }
      return found.number
    }
    let (parent, title, order) = (parent.map(field), title.map(field), order.map(field))
    guard let known = UInt64(exactly: number).flatMap({ KindNumber($0) }) else {
      preconditionFailure("\(number) is not the number of a kind")
    }
    let number = known.rawValue
    definition = .app(
      known,
      LazyKind {
        AppKind(
          UInt64(number), name, plural: plural, parent: parent, title: title, order: order,
          fields.compactMap { $0.definition?() })
      })
  }

  /// The number of the kind.
  var number: KindNumber {
    switch definition {
    case .builtIn(let kind): kind.number
    case .app(let number, _): number
    }
  }

  /// The kind as an app defines it; nil for a built-in kind.
  var appKind: AppKind? {
    guard case .app(_, let lazy) = definition else { return nil }
    return lazy.definition
  }

  var kind: Kind {
    switch definition {
    case .builtIn(let kind): kind
    case .app(_, let lazy): lazy.kind
    }
  }

  /// Returns the field that a property shows, alone or with others; nil if the property is not stored.
  func field(_ path: PartialKeyPath<Owner>) -> RecordField<Owner>? {
    all.first { $0.parts.contains { $0.path == path } }
  }

  /// Returns the component of a field that a property shows; nil if the property is not a single stored value.
  func part(_ path: PartialKeyPath<Owner>) -> RecordQuery.Part? {
    if path == id { return .id }
    guard let field = field(path), let part = field.parts.first(where: { $0.path == path }),
      part.isComparable
    else {
      return nil
    }
    return RecordQuery.Part(field.number, part.index, absent: part.absent)
  }
}

/// A kind of an app that is created lazily.
private final class LazyKind: Sendable {
  let make: @Sendable () -> AppKind
  private let made = Mutex<Kind?>(nil)

  init(_ make: @escaping @Sendable () -> AppKind) { self.make = make }

  var definition: AppKind { make() }

  var kind: Kind {
    if let kind = made.withLock({ $0 }) { return kind }
    // Not under the lock: a field can refer to its own kind.
    guard let kind = Kind(definition) else { preconditionFailure("the kind has no number") }
    return made.withLock { held in
      held = held ?? kind
      return held ?? kind
    }
  }
}

/// One field of a kind, and the properties that show the field.
public struct RecordField<Owner: Record>: Sendable {
  /// A key path to a property of a record.
  public typealias Path<Property> = any WritableKeyPath<Owner, Property> & Sendable

  /// One component of the field, and the property that shows it.
  struct Part {
    let path: any PartialKeyPath<Owner> & Sendable
    var index = 0
    /// The value that the property has if the field is null.
    var absent = ColumnValue.null
    /// Whether records can be filtered and sorted by the property.
    var isComparable = true
  }

  let name: String
  var number: FieldNumber = 0
  let read: @Sendable (Value, inout Owner) -> Void
  let write: @Sendable (Owner) -> Value
  var parts: [Part] = []
  /// The field as an app defines it; nil for a field of a built-in kind.
  var definition: (@Sendable () -> AppField)?
}

extension RecordField {
  /// Maps a field to a property that is nil if the field is null.
  static func field<Content: FieldContent>(_ name: String, _ path: Path<Content?>) -> RecordField {
    RecordField(
      name: name, read: { $1[keyPath: path] = Content($0) }, write: { $0[keyPath: path]?.value ?? .null },
      parts: [Part(path: path)])
  }

  /// Maps a field to a property that has a default value if the field is null.
  static func field<Content: FieldContent>(
    _ name: String, _ path: Path<Content>, absent: Content
  ) -> RecordField {
    let operand = (absent as? any QueryValue)?.queryOperand.column ?? .null
    return RecordField(
      name: name, read: { $1[keyPath: path] = Content($0) ?? absent }, write: { $0[keyPath: path].value },
      parts: [Part(path: path, absent: operand)])
  }

  /// Maps a field to a text property that is empty if the field is null.
  static func text(_ name: String, _ path: Path<String>) -> RecordField { field(name, path, absent: "") }

  /// Maps a field to an id that is never nil; it is zero if the field is null.
  static func id<Target: Record>(_ name: String, _ path: Path<Identifier<Target>>) -> RecordField {
    RecordField(
      name: name, read: { $1[keyPath: path] = Identifier($0) ?? .zero }, write: { $0[keyPath: path].value },
      parts: [Part(path: path)])
  }

  /// Maps a field to two properties, a time and its zone. They form one field because neither means anything without
  /// the other.
  static func time(_ name: String, _ path: Path<Date?>, zone: Path<String?>) -> RecordField {
    RecordField(
      name: name,
      read: {
        $1[keyPath: path] = Date($0.part(0))
        $1[keyPath: zone] = String($0.part(1))
      },
      write: { record in
        guard let time = record[keyPath: path] else { return .null }
        return .array([time.value, record[keyPath: zone]?.value ?? .null])
      }, parts: [Part(path: path), Part(path: zone, index: 1)])
  }
}
