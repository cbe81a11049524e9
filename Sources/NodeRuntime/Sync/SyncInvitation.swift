// Turning sync on for all devices.
//
// `sync on --everywhere` turns sync on here and writes the setting `sync.invited`, which syncs to every device. There it
// is only a question: no device turns sync on because of it, unless its person answered in advance with `followSync`.
//
//     sync.invited   answered here before   followSync   premium   what this device does
//     not set        –                      –            –         nothing
//     set            on or off              –            –         nothing: the person has decided
//     set            no                     –            no        nothing, until there is premium
//     set            no                     no           yes       asks, in `status` and `sync`
//     set            no                     yes          yes       turns sync on

import Engine
import Enrolment
import Home
import Membership
import Model
import Reasons
import Replication
import Storage
import Wire

extension NodeCore {
  /// From now on, follows an invitation to sync as soon as it and premium are here, unless the person has turned sync
  /// on or off on this device. If two sets of records differ then, they merge.
  package func followSyncInvitations() {
    followsInvitations = true
    followInvitation()
  }

  /// Turns sync on if this device follows invitations and has an open one.
  package func followInvitation() {
    guard followsInvitations, replicator.isOpen, maintenance.failure == nil else { return }
    let inspection = inspection()
    guard inspection.isInvited else { return }
    do {
      try setSync(true)
      logger.info("sync", "turned on, as \(inspection.inviter ?? "another device") asked for")
    } catch {
      logger.error("sync", "can't be turned on: \(failure(error).message)")
    }
  }

  /// Follows an invitation after the turn that is under way, in which no other turn can run.
  package func followInvitationSoon() {
    guard followsInvitations else { return }
    loop.onQueue { $0.followInvitation() }
  }
}

/// The setting with which a device invites all others to sync.
package enum SyncInvitation {
  package static var key: String { KnownPreference.syncInvited.key }

  /// Whether the person has turned sync on or off on this device.
  static func isAnswered(in store: Store) throws -> Bool { try store.meta(MetaKey.preference) != nil }
}

extension NodeInspection {
  /// Whether another device has invited this one to sync, and the person has not answered yet.
  var isInvited: Bool {
    guard replica.ownGate(now: now).premiumReason == nil,
      (try? SyncInvitation.isAnswered(in: store)) == false
    else { return false }
    let settings = StoredSettings(store: store, copy: maintenance.home.storage.preferences)
    guard let reading = try? settings.reading(SyncInvitation.key) else { return false }
    return reading.source == .settings && reading.value == .bool(true)
  }

  /// The name of the device that invited all others to sync; nil if none did.
  fileprivate var inviter: String? {
    let record = StoredSettings.recordKey(SyncInvitation.key)
    let author = try? store.author(of: record, field: StoredSettings.valueField)
    return author.map { connections.names.name(of: $0) }
  }

  /// The notice that asks whether this device should sync; nil if there is nothing to ask.
  func invitationNotice() throws -> NodeStatus.Notice? {
    guard isInvited else { return nil }
    return NodeStatus.Notice(
      .syncInvited,
      text:
        "sync was turned on for all devices by \(inviter ?? "another device"), and this device has not answered"
    )
  }
}
