// SwiftUI for the models of this module. Untried: no one has compiled or run this file, because it needs an Apple
// platform. Everything that it does by itself is to connect SwiftUI to the other types of this module, which have tests.

#if canImport(SwiftUI)
  public import SwiftUI
  public import Waymark

  /// A live query in a view.
  ///
  /// ```swift
  /// struct TripList: View {
  ///   @Live(Trip.all.sorted(by: \.startDate)) var trips
  ///   var body: some View { List(trips ?? []) { trip in Text(trip.name) } }
  /// }
  /// ```
  ///
  /// The node comes from the environment; see `View.waymarkNode(_:suspension:)`. The projected value, `$trips`, is the
  /// model, with the phase and the reason for the last change.
  @MainActor @propertyWrapper public struct Live<Value: Sendable & Equatable>: DynamicProperty {
    @Environment(\.waymarkNode) private var node
    @State private var slot = WatchedSlot<Value>()
    private let query: LiveQuery<Value>

    /// Follows a live query.
    public init(_ query: LiveQuery<Value>) { self.query = query }

    /// Follows the records of a query.
    public init<Owner: Record>(_ query: Query<Owner>) where Value == [Owner] { self.query = .records(query) }

    /// The newest value; nil until it has been read, and without a node.
    public var wrappedValue: Value? { projectedValue?.value }

    /// The model of the query; nil without a node.
    public var projectedValue: Watched<Value>? { node.map { slot.model(of: query, on: $0) } }
  }

  extension EnvironmentValues {
    /// The node whose data views show.
    public var waymarkNode: Node? {
      get { self[NodeKey.self] }
      set { self[NodeKey.self] = newValue }
    }
  }

  private struct NodeKey: EnvironmentKey {
    static let defaultValue: Node? = nil
  }

  extension View {
    /// Makes a node available to views, and suspends it while the app is in the background.
    ///
    /// - Parameter suspension: the suspension of the node, which the app creates once; nil to leave the node running.
    public func waymarkNode(_ node: Node, suspension: SceneSuspension?) -> some View {
      modifier(NodeHost(node: node, suspension: suspension))
    }
  }

  private struct NodeHost: ViewModifier {
    @Environment(\.scenePhase) private var scenePhase
    let node: Node
    let suspension: SceneSuspension?

    func body(content: Content) -> some View {
      content.environment(\.waymarkNode, node).onChange(of: scenePhase) { _, phase in
        switch phase {
        case .background: suspension?.enterBackground()
        case .active: suspension?.enterForeground()
        case .inactive: break
        @unknown default: break
        }
      }
    }
  }
#endif
