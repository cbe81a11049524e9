import Replication
import VirtualDisk

/// Copies of a device: with the same keys and the same store at the moment of copying.
extension World {
  /// Copies the data directory of a device and starts it elsewhere, with the same keys.
  func clone(_ device: Device) -> Bool {
    // An image of a whole machine includes the identity of the store's file: then both copies write the same log.
    guard let twin = copy(device, isOfImage: random.happens(perThousand: 600)) else { return false }
    if random.happens(perThousand: 300) {
      // The copy stays unused until everything is healed.
      twin.isResting = true
    } else if random.happens(perThousand: 500) {
      _ = separate(device, twin)
    } else {
      later(random.wait(2_000), .start(twin.number))
    }
    return true
  }

  /// Nil if there is a copy already, if the device is an adversary, or if there are too many devices.
  private func copy(_ device: Device, isOfImage: Bool) -> Device? {
    guard device.isHonest, devices.count(where: { $0.key == device.key && !$0.isGone }) < 2,
      devices.count < 12
    else { return nil }
    let twin = Device(
      device.keys, number: devices.count, world: self, isHonest: true,
      // A copy without records sync receives no records, so it can't notice the other one by them.
      preference: device.preference && random.happens(perThousand: 700))
    twin.twinNumber = devices.count
    twin.disk = device.disk.copy()
    if isOfImage { twin.storeIdentity = device.storeIdentity }
    twin.addressBook = device.addressBook + [device.address]
    devices.append(twin)
    tally.count("cloned")
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
    // Break the first copy's links across the partition: while they seem alive, peers accept none of the other copy.
    for link in links.values.sorted(by: { $0.id < $1.id })
    where link.devices.contains(device.number)
      && !near.contains(where: { $0 != device.number && link.devices.contains($0) })
    {
      breakLink(link)
    }
    for part in 1...3 { later(time * Moment(part) / 4, .end(.words([device.number, twin.number]))) }
    // Sometimes write so many sets that the search for the fork takes more than one round.
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
    // Before any peer has announced what else exists of its log.
    later(start + 2 + Moment(random.below(40)), .end(.words([twin.number])))
    return (time, near)
  }

  /// Each part of the circle revokes the copy that it knows, so that neither has seen the log that the other keeps.
  func tear(_ device: Device) -> Bool {
    guard maySpare(device), let twin = copy(device, isOfImage: true) else { return false }
    twin.preference = device.preference
    // With its clock ahead of the others, its sets are parked there.
    if random.happens(perThousand: 300) {
      device.clock.offset += Self.driftMilliseconds + random.wait(10_000)
    }
    let (time, near) = separate(device, twin)
    later(time - 2, .end(.verdicts(device.number, near: near)))
    return true
  }
}
