import Engine
import Membership
import Replication
import Sodium
import VirtualDisk
import Wire

/// Users withdraw entitlements and the circle's second issuer, with keys that may do so and with others, and get new
/// entitlements. Everything is drawn from a stream of its own.
extension World {
  /// Makes the circle accept a second issuer, which may be withdrawn without ending all premium.
  func pinSecondIssuer() throws {
    let body = IssuerStatement(
      circle: authority.circle, root: DeviceKey(authority.root), issuers: [DeviceKey(authority.secondIssuer)],
      issued: Self.start)
    firstStatements.append(try Membership.Statement(signing: body, with: authority.root))
  }

  func letPeopleWithdraw() {
    later(withdrawalRandom.wait(options.withdrawalsEvery), .withdrawal)
    guard let device = withdrawalRandom.pick(devices.filter { $0.process?.isServing == true }) else { return }
    // If users only took, the records lanes would stay closed for the rest of the run.
    if withdrawalRandom.happens(perThousand: 450) { give(device) } else { take(device) }
  }

  private func give(_ device: Device) {
    guard let target = withdrawalRandom.pick(devices) else { return }
    let key = withdrawalRandom.happens(perThousand: 500) ? authority.issuer : authority.secondIssuer
    let begin = now - 1_000 + Moment(withdrawalRandom.below(3_000))
    let end = withdrawalRandom.happens(perThousand: 700) ? Self.start * 2 : begin + 20_000
    let entitled = withdrawalRandom.happens(perThousand: 900) ? [target.key] : nil
    guard let statement = try? authority.entitlement(for: entitled, begin..<end, issuedAt: 0, by: key)
    else { return }
    mark("entitlements given again", on: device)
    learn(device, statement)
  }

  private func take(_ device: Device) {
    guard let circle = device.process?.replicator.circle else { return }
    if withdrawalRandom.happens(perThousand: 60) {
      let isByRoot = withdrawalRandom.happens(perThousand: 600)
      let key = isByRoot ? authority.root : authority.issuer
      return withdraw(on: device, by: key, issuers: [DeviceKey(authority.secondIssuer)])
    }
    guard let entitlement = withdrawalRandom.pick(circle.evaluation.entitlements) else { return }
    let both = [authority.issuer, authority.secondIssuer]
    let own = both.first { DeviceKey($0) == entitlement.body.issuer } ?? authority.stranger
    let others =
      both.filter { DeviceKey($0) != entitlement.body.issuer } + [
        authority.stranger, device.keys.signing,
      ]
    let key =
      switch withdrawalRandom.below(10) {
      case 0..<4: authority.root
      case 4..<7: own
      default: withdrawalRandom.pick(others) ?? own
      }
    // It may name an entitlement that this device has never seen.
    let unseen = withdrawalRandom.happens(perThousand: 100)
    let ids =
      unseen
      ? [entitlement.id, StatementID(Bytes32(withdrawalRandom.next(), 0, 0, 0))] : [entitlement.id]
    withdraw(on: device, by: key, entitlements: ids)
  }

  private func withdraw(
    on device: Device, by key: SigningKey, issuers: [DeviceKey] = [], entitlements: [StatementID] = []
  ) {
    let body = Withdrawal(
      circle: authority.circle, signer: DeviceKey(key), issuers: issuers, entitlements: entitlements,
      issued: device.wall)
    guard let statement = try? Membership.Statement(signing: body, with: key),
      let before = device.process?.replicator.circle
    else { return }
    learn(device, statement)
    tally.count("withdrawals")
    guard let after = device.process?.replicator.circle else { return }
    if after.accepted.count < before.accepted.count {
      mark("withdrawals that counted", on: device)
    } else {
      mark("withdrawals without effect", on: device)
    }
  }
}
