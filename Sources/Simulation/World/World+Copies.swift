import Replication
import VirtualDisk

/// Copies of a device, which have the same keys and, at the moment of copying, the same store.
extension World {
  /// Copies a device's data directory, including its keys, and starts the copy elsewhere; returns false if it can't.
  func clone(_ device: Device) -> Bool {
    // An image of a whole machine includes the identity of the store's file, so both copies then write the same log.
    guard let twin = copy(device, isOfImage: random.happens(perThousand: 600)) else { return false }
    if random.happens(perThousand: 300) {
      // The copy is not used until everything is healed.
      twin.isResting = true
    } else if random.happens(perThousand: 500) {
      _ = separate(device, twin)
    } else {
      later(random.wait(2_000), .start(twin.number))
    }
    return true
  }

  /// Returns a copy of a device; nil if a copy already exists, the device is an adversary, or there are too many
  /// devices.
  private func copy(_ device: Device, isOfImage: Bool) -> Device? {
    guard device.isHonest, devices.count(where: { $0.key == device.key && !$0.isGone }) < 2,
      devices.count < 12
    else { return nil }
    let twin = Device(
      device.keys, number: devices.count, world: self, isHonest: true,
      // A copy that does not sync records receives none, so records can't reveal the other copy to it.
      preference: device.preference && random.happens(perThousand: 700))
    twin.twinNumber = devices.count
    twin.disk = device.disk.copy()
    if isOfImage { twin.storeIdentity = device.storeIdentity }
    twin.addressBook = device.addressBook + [device.address]
    devices.append(twin)
    mark("cloned", on: device)
    judged { try $0.cloned(device, as: twin) }
    return twin
  }

  /// Partitions the circle so that two copies of a device are in use on different sides.
  ///
  /// - Returns: the duration, and the numbers of all devices on the side of the first copy.
  private func separate(_ device: Device, _ twin: Device) -> (time: Moment, near: [Int]) {
    let time = someTime()
    let others = devices.filter { $0 !== device && $0 !== twin }.map(\.number).shuffled(using: &random)
    // At least one other device on each side, if there are two.
    let near = [device.number] + others.prefix(others.count < 2 ? 1 : 1 + random.below(others.count - 1))
    divide(time) { near.contains($0.number) }
    // Break the first copy's links across the partition. As long as those seem alive, peers accept no links from the
    // other copy.
    for link in links.values.sorted(by: { $0.id < $1.id })
    where link.devices.contains(device.number)
      && !near.contains(where: { $0 != device.number && link.devices.contains($0) })
    {
      breakLink(link)
    }
    for part in 1...3 { later(time * Moment(part) / 4, .end(.words([device.number, twin.number]))) }
    // Sometimes write so many sets that peers need more than one round to find where the log forked.
    if random.happens(perThousand: 400) {
      let words = random.logarithmic(20, 120)
      for part in 1...words {
        later(time * Moment(part) / Moment(words + 1), .end(.stream([device.number, twin.number])))
      }
    }
    if random.happens(perThousand: 500) {
      later(time - 1, .end(.hearsay(random.happens(perThousand: 500) ? device.number : twin.number)))
    }
    let start = random.wait(options.faultsEvery)
    later(start, .start(twin.number))
    // Write before any peer has announced which other sets exist in the copy's log.
    later(start + 2 + Moment(random.below(40)), .end(.words([twin.number])))
    return (time, near)
  }

  /// Copies a device and makes each part of the circle revoke the copy that it knows, so that neither part has seen the
  /// branch that the other keeps.
  func tear(_ device: Device) -> Bool {
    guard maySpare(device), let twin = copy(device, isOfImage: true) else { return false }
    twin.preference = device.preference
    // If the device's clock is ahead, other devices park its sets.
    if random.happens(perThousand: 300) {
      device.clock.offset += Self.driftMilliseconds + random.wait(10_000)
    }
    let (time, near) = separate(device, twin)
    later(time - 2, .end(.verdicts(device.number, near: near)))
    return true
  }
}
