import Membership
import Replication
import Wire

extension Node {
  /// In a build made for development, shows peers of the same build that this device is premium. Other builds
  /// know no development issuer and show nothing.
  func showDevelopmentEntitlement() throws {
    guard
      let statement = try circle.developmentEntitlement(
        device: identity.device, local: replica.localPremium),
      circle.statement(statement.id) == nil
    else { return }
    handle(.statementsAdded([statement.bytes]))
  }
}
